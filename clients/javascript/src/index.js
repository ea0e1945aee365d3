// A client of Concord, content-based publish/subscribe in which subscribers agree on order.

export { Client, connect } from "./client.js";
export { Deliveries } from "./deliveries.js";
export { Delivery, Gap } from "./delivery.js";
export {
  BrokerFaultError, ClosedError, ConcordError, ConnectionFailedError, ConnectionLostError, GapError, InvalidPublicationError,
  PublisherEndedError, RefusedError, SlowSubscriberError, SubscriptionEndedError,
} from "./errors.js";
export { filter } from "./filters.js";
export { LIMITS } from "./limits.js";
export { Publisher } from "./publisher.js";
export { AdvertisementWatch } from "./watch.js";
