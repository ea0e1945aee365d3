cimport cython

from broker.publication cimport Publication

cdef int _NUMBER, _NEGATIVE, _BYTES, _TEXT, _MAP, _SIMPLE
cdef int _ORDERED, _MARK_SHIFT, _PUBLICATION
cdef int _FALSE, _TRUE, _DOUBLE, _ONE_BYTE, _EIGHT_BYTES, _SIGN
cdef int _ARRAY_OF_FIVE
cdef int _FRACTION_BITS, _EXPONENTS
cdef unsigned long long _FRACTION, _HIDDEN_BIT
cdef Py_ssize_t _KIND_AT, _FLAGS_AT, _BODY_AT, SMALL_BYTES
cdef tuple _FLAGS, _SCALES
cdef dict _names, _delivered_names
cdef list _readers

@cython.locals(detail=int, size=Py_ssize_t)
cdef Py_ssize_t whole_head(const unsigned char* data, Py_ssize_t at, Py_ssize_t end) noexcept

@cython.locals(number=cython.ulonglong, index=Py_ssize_t)
cdef unsigned long long argument(const unsigned char* data, Py_ssize_t at, Py_ssize_t size) noexcept

@cython.final
cdef class EventReader:
    cdef readonly str publisher
    cdef readonly unsigned long long sequence
    cdef readonly unsigned long long published_ns
    cdef readonly dict attributes
    cdef readonly Py_ssize_t payload_at
    cdef unsigned long long _number
    cdef bytes _prefix
    cdef list _names, _encoded, _texts, _encoded_texts
    cdef dict _known

    cpdef bint read(self, bytes frame) except -1

    @cython.locals(data=cython.p_const_uchar, at=Py_ssize_t, end=Py_ssize_t, size=Py_ssize_t)
    cdef bint _read(self, bytes frame) except -1

    @cython.locals(
        data=cython.p_const_uchar, at=Py_ssize_t, size=Py_ssize_t, length=cython.ulonglong, after=Py_ssize_t
    )
    cdef Py_ssize_t _read_publisher(self, bytes frame, Py_ssize_t end) except -1

    @cython.locals(data=cython.p_const_uchar, size=Py_ssize_t)
    cdef Py_ssize_t _read_number(self, bytes frame, Py_ssize_t at, Py_ssize_t end) except -1

    @cython.locals(
        data=cython.p_const_uchar, size=Py_ssize_t, count=cython.ulonglong, index=Py_ssize_t, encoded_text=bytes
    )
    cdef Py_ssize_t _read_attributes(self, bytes frame, Py_ssize_t at, Py_ssize_t end) except -1

    @cython.locals(
        data=cython.p_const_uchar,
        size=Py_ssize_t,
        number=cython.ulonglong,
        signed=cython.longlong,
        kind=int,
        after=Py_ssize_t,
        name=str,
    )
    cdef Py_ssize_t _read_value(self, bytes frame, Py_ssize_t at, Py_ssize_t end, Py_ssize_t index) except -1

    @cython.locals(exponent=int, bits=cython.ulonglong, scale=double, size=double)
    cdef bint _take_simple(self, int head, unsigned long long number, str name) except -1

    @cython.locals(data=cython.p_const_uchar, size=Py_ssize_t, length=cython.ulonglong, after=Py_ssize_t, encoded=bytes)
    cdef Py_ssize_t _read_name(self, bytes frame, Py_ssize_t at, Py_ssize_t end, Py_ssize_t index) except -1

@cython.locals(data=cython.p_const_uchar, after=Py_ssize_t, is_right=bint)
cpdef Py_ssize_t cut(bytes buffer, Py_ssize_t position, Py_ssize_t end, int refused_flags, list frames) except -1

@cython.locals(index=Py_ssize_t, frame=bytes, flags=int, mark=int, publication=Publication)
cpdef read_usual(list frames, Py_ssize_t payload_limit, EventReader reader, list publications)

cpdef bytes plain(bytes frame)

@cython.locals(reader=EventReader)
cpdef EventReader read_delivered(bytes frame)

cpdef give_back(EventReader reader)
