cimport cython

cdef Py_ssize_t _ROOM, _PAYLOAD, _ITEM, _HEADER, _LENGTH
cdef int _NUMBER, _NEGATIVE, _BYTES, _TEXT, _MAP, _FALSE, _TRUE, _DOUBLE
cdef int _ONE_BYTE, _TWO_BYTES, _FOUR_BYTES, _EIGHT_BYTES, _KIND
cdef object _pack_double
cdef list _rooms

@cython.locals(at=Py_ssize_t, room=bytearray, data=cython.p_uchar, frame=bytes)
cpdef bytes write_usual(
    dict names,
    bytes prefix,
    unsigned long long sequence,
    unsigned long long published_ns,
    attributes,
    bytes payload,
    bint ordered,
)

@cython.locals(index=Py_ssize_t)
cdef void put_bytes(unsigned char* data, Py_ssize_t at, const unsigned char* octets, Py_ssize_t size) noexcept

@cython.locals(index=Py_ssize_t)
cdef void put_number(unsigned char* data, Py_ssize_t at, unsigned long long number, Py_ssize_t size) noexcept

@cython.locals(size=Py_ssize_t, detail=int)
cdef Py_ssize_t put_head(unsigned char* data, Py_ssize_t at, int kind, unsigned long long number) noexcept

@cython.locals(data=cython.p_uchar, encoded=bytes)
cdef Py_ssize_t _put_attributes(bytearray room, Py_ssize_t at, dict attributes, dict names) except -1

@cython.locals(data=cython.p_uchar, signed=cython.longlong)
cdef Py_ssize_t _put_value(bytearray room, Py_ssize_t at, value) except -1

@cython.locals(data=cython.p_uchar, size=Py_ssize_t, octets=bytes)
cdef Py_ssize_t _put_text(bytearray room, Py_ssize_t at, str text) except -1
