// Every error that this package raises on purpose is a `ConcordError`. What a program may want to decide on is a
// property (`code`, `count`, `address`), never only text.

export class ConcordError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** No connection could be made. `address` names what was tried. */
export class ConnectionFailedError extends ConcordError {
  constructor(message, address, options) {
    super(message, options);
    this.address = address;
  }
}

/** The connection broke and stays broken: the time to reconnect, if bounded, has run out. */
export class ConnectionLostError extends ConcordError {}

/** The publisher, subscription or client was used after it had been closed. */
export class ClosedError extends ConcordError {}

/** The attributes or the payload of an event cannot be published; the message names which. */
export class InvalidPublicationError extends ConcordError {}

/** An error with the broker's reason for programs. */
class CodedError extends ConcordError {
  constructor(message, code, options) {
    super(message, options);
    this.code = code;
  }
}

/** The broker closed the connection, or one of the two broke the protocol. */
export class BrokerFaultError extends CodedError {}

/** The broker refused an advertisement, a subscription or a question. */
export class RefusedError extends CodedError {}

/** The broker ended a publisher. */
export class PublisherEndedError extends CodedError {}

/** The broker ended a subscription. */
export class SubscriptionEndedError extends CodedError {}

/** The broker ended a subscription because its queue there outgrew the subscription's bound. */
export class SlowSubscriberError extends SubscriptionEndedError {}

/** Deliveries are missing here: `count` of them, or null if nobody knows how many. */
export class GapError extends ConcordError {
  constructor(message, count, reason) {
    super(message);
    this.count = count;
    this.reason = reason;
  }
}
