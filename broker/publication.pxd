cimport cython

@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Publication:
    cdef public str publisher
    cdef public object sequence
    cdef public object attributes
    cdef public bint ordered
    cdef public bytes frame
    cdef public int mark
    cdef public object published_ns
