cimport cython

from broker.wire.events cimport EventReader, give_back, read_delivered

@cython.freelist(256)
cdef class Delivery:
    cdef readonly bytes frame
    cdef readonly object position
    cdef object _publisher
    cdef unsigned long long _sequence
    cdef unsigned long long _published_ns
    cdef object _attributes
    cdef object _payload
    cdef public object _acknowledge
    cdef object __weakref__

    cdef object _decode(self)

    @cython.locals(data=cython.p_const_uchar)
    cdef object _take(self, EventReader reader)
