// Addresses of brokers: `ws://` and `wss://` for WebSocket, HOST:PORT for TCP.

import { ConnectionFailedError } from "./errors.js";

/** Check an address; throws `ConnectionFailedError` for one that nobody can dial here. */
export function checkAddress(address, options) {
  const fail = (reason) => {
    throw new ConnectionFailedError(`cannot connect: ${reason}`, address);
  };
  if (isWebSocket(address)) {
    if (!URL.canParse(address)) fail(`${address} is no address of a WebSocket, for example ws://127.0.0.1:7413`);
    if (!webSocketOf(options)) fail(`${address} needs WebSocket, which is not here; pass one as the option WebSocket, or give HOST:PORT`);
  } else {
    if (!/^(\[[^\]\s]+\]|[^[\]:\s]+):\d{1,5}$/.test(address)) fail(`${address} is not HOST:PORT and no address of a WebSocket`);
    if (globalThis.process?.versions?.node === undefined) fail(`${address} needs TCP, which pages do not have; give the broker's WebSocket, ws://${address}`);
  }
}

/** Whether a broker is dialled over WebSocket there. */
export function isWebSocket(address) {
  return /^wss?:\/\//i.test(address);
}

/** The class for WebSockets: the one that was passed, or the one that is here. */
export function webSocketOf({ WebSocket = globalThis.WebSocket }) {
  return WebSocket;
}
