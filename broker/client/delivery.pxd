cimport cython

from broker.wire.events cimport read_delivered

@cython.final
@cython.freelist(256)
cdef class Delivery:
    cdef readonly bytes frame
    cdef readonly object position
    cdef object _decoded
    cdef public object _acknowledge
    cdef object __weakref__

    cdef object _decode(self)
