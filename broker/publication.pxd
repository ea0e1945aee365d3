cimport cython

@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Publication:
    cdef readonly str publisher
    cdef readonly object sequence
    cdef readonly object attributes
    cdef readonly bint ordered
    cdef readonly bytes frame
    cdef readonly int mark
    cdef readonly object published_ns
