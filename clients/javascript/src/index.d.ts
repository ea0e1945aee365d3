// Types of the package; the reference is docs/reference/javascript.md.

/** A value of an attribute. Whole numbers that a `number` does not hold exactly are `bigint`. */
export type Value = string | number | bigint | boolean | null | readonly Value[] | { readonly [key: string]: Value };

export type Attributes = Record<string, Value>;

/** The name of a client's state, and why it has changed. */
export interface StateChange {
  readonly state: "connected" | "reconnecting" | "closed";
  readonly address: string;
  readonly reason: string;
}

export interface Limits {
  windowBytes: number;
  flushBytes: number;
  flushIntervalS: number;
  writeBytes: number;
  inboxBytes: number;
  creditFirst: number;
  creditMin: number;
  creditMax: number;
  connectTimeoutS: number;
  closeTimeoutS: number;
  reconnectTimeoutS: number;
}

export const LIMITS: Readonly<Limits>;

/** The part of a WebSocket that a connection uses. */
export interface WebSocketLike {
  binaryType: string;
  readonly readyState: number;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(bytes: never): void;
  close(code?: number, reason?: string): void;
}

export interface ConnectOptions {
  /** What the broker calls this client; it need not be unique. */
  name?: string;
  /** Proves to the broker who this client is, where the broker asks for that. */
  token?: string;
  /** Keep trying if no first connection can be made. */
  retry?: boolean;
  limits?: Partial<Limits>;
  onState?: (change: StateChange) => void;
  /** For HOST:PORT addresses in Node: what `tls.connect` takes, or true. */
  tls?: boolean | object;
  /** The WebSocket to use where the program has no global one. */
  WebSocket?: { new (address: string, protocols: string[]): WebSocketLike; readonly OPEN: number };
  /** Where the spread of waits comes from: numbers from 0 to 1. */
  random?: () => number;
}

/** Connect to a broker, at the first of these addresses that answers: `ws://` and `wss://`, or HOST:PORT in Node. */
export function connect(addresses: string | readonly string[], options?: ConnectOptions): Promise<Client>;

export type FilterValue = string | number | bigint | boolean | null | readonly FilterValue[];

/** A filter with values in it, which are written as the language has them: filter`symbol == ${symbol}`. */
export function filter(texts: TemplateStringsArray, ...values: FilterValue[]): string;

export interface SubscribeOptions {
  /** Whether its order is that on which ordered subscriptions agree; true unless you say otherwise. */
  ordered?: boolean;
  /** How much may wait at the broker. */
  boundBytes?: number;
  /** What happens when more waits: the broker ends the subscription, or leaves a gap. */
  policy?: "disconnect" | "drop";
  /** A name under which the subscription outlives the program. */
  durable?: string;
  /** How long it is kept without a program; 0 leaves that to the broker. */
  ageS?: number;
  /** The position behind which to go on, for a program that keeps its own. */
  after?: number | null;
  /** The `id` of the deliveries that `after` is a position of. */
  resume?: string;
  /** "manual": the program has had a delivery of a durable subscription only when it says so. */
  ack?: "auto" | "manual";
  /** How many deliveries may be unacknowledged. */
  maxOpen?: number;
  /** Which part of the past comes first: a count, an age ("5m"), "now", or both. */
  replay?: number | string | { count?: number; ageS?: number };
}

export class Client implements AsyncDisposable {
  private constructor();
  readonly name: string;
  readonly state: StateChange["state"];
  /** The name of the broker, or nothing while there is no connection. */
  readonly broker: string;
  /** `resume` is the id of a publisher that an earlier client of this name had at this broker. */
  advertise(filter: string, options?: { resume?: string }): Promise<Publisher>;
  subscribe(filter: string, options?: SubscribeOptions): Promise<Deliveries>;
  /** Watch what publishers, at any broker, have advertised; resolves when all that stands has come. */
  advertisements(filter?: string): Promise<AdvertisementWatch>;
  forget(durable: string): Promise<void>;
  durableSubscriptions(): Promise<Record<string, unknown>[]>;
  explain(publisher?: string, sequence?: number | bigint): Promise<Record<string, unknown>[]>;
  brokers(): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface PublishOptions {
  /** What filters do not see: bytes, or a text that is written in UTF-8. */
  payload?: string | ArrayBuffer | ArrayBufferView;
  ordered?: boolean;
  /** Resolve when the broker has taken the event over. */
  confirm?: boolean;
}

export class Publisher implements AsyncDisposable {
  private constructor();
  readonly id: string;
  /** The number of its last event. */
  readonly sequence: number;
  readonly isWanted: boolean;
  wanted(): Promise<void>;
  unwanted(): Promise<void>;
  /** The filters that overlap the advertisement, as `interestChanges` gave them last. */
  readonly interests: readonly string[];
  /** All filters that overlap the advertisement, then each change. */
  interestChanges(): AsyncGenerator<{ added: string[]; removed: string[] }, never>;
  /** Call `produce` while a subscriber is interested, for ever; abort its signal when nobody has been for `lingerS`. */
  whileWanted(produce: (signal: AbortSignal) => unknown, options?: { lingerS?: number }): Promise<never>;
  /** Resolves to the number of the event. */
  publish(attributes: Attributes | ReadonlyMap<string, Value>, options?: PublishOptions): Promise<number>;
  flush(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export class Delivery {
  private constructor();
  /** Its position in the subscription, counted from 1 over all connections. */
  readonly position: number;
  readonly publisher: string;
  readonly sequence: number | bigint;
  readonly attributes: Attributes;
  readonly payload: Uint8Array;
  /** The payload as text. */
  readonly text: string;
  /** When it was published, in milliseconds since 1970, as `Date.now()` counts. */
  readonly publishedAt: number;
  readonly publishedNs: bigint;
  readonly ordered: boolean;
  /** Whether it is of the past that the subscription asked for. */
  readonly replayed: boolean;
  /** Acknowledge this delivery and all before it. */
  ack(): void;
}

export class Gap {
  constructor(count: number | null, reason: string);
  /** How many deliveries are missing; null if nobody knows. */
  readonly count: number | null;
  readonly reason: "bound" | "lost" | "replay" | "taken" | "forgotten" | (string & {});
  toString(): string;
}

export class Deliveries implements AsyncIterable<Delivery>, AsyncDisposable {
  private constructor();
  /** What the broker calls the subscription; another name behind a gap of reason "forgotten". */
  readonly id: string;
  /** The position of the last delivery or gap that was given. */
  readonly position: number;
  /** Whether the broker has resumed this durable subscription. */
  readonly isResumed: boolean;
  [Symbol.asyncIterator](): AsyncIterableIterator<Delivery>;
  next(options?: { signal?: AbortSignal }): Promise<IteratorResult<Delivery, undefined>>;
  withGaps(): AsyncIterableIterator<Delivery | Gap>;
  batches(options?: { maxCount?: number; maxS?: number }): AsyncIterableIterator<Delivery[]>;
  ack(position: number): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What comes and goes; "complete" when all that stood when the client connected, or connected again, has come. */
export interface AdvertisementChange {
  readonly kind: "added" | "removed" | "complete";
  readonly publisher: string;
  readonly filter: string;
}

export class AdvertisementWatch implements AsyncIterable<AdvertisementChange>, AsyncDisposable {
  private constructor();
  /** What stands now: filters by publisher. */
  readonly standing: Map<string, string>;
  [Symbol.asyncIterator](): AsyncIterableIterator<AdvertisementChange>;
  next(): Promise<IteratorResult<AdvertisementChange, undefined>>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export class ConcordError extends Error {}

export class ConnectionFailedError extends ConcordError {
  readonly address: string;
}

export class ConnectionLostError extends ConcordError {}

export class ClosedError extends ConcordError {}

export class InvalidPublicationError extends ConcordError {}

export class BrokerFaultError extends ConcordError {
  readonly code: string;
}

export class RefusedError extends ConcordError {
  readonly code: string;
}

export class PublisherEndedError extends ConcordError {
  readonly code: string;
}

export class SubscriptionEndedError extends ConcordError {
  readonly code: string;
}

export class SlowSubscriberError extends SubscriptionEndedError {}

export class GapError extends ConcordError {
  readonly count: number | null;
  readonly reason: string;
}
