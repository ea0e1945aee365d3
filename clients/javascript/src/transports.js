// Ways to a broker. `ws://` and `wss://` addresses take a WebSocket, which browsers have, and Node from 22 on;
// HOST:PORT takes TCP, with or without TLS, which Node has.
//
// A transport has `send(bytes)`, and `close(bytes)` for the last of them. It calls `on.opened()`, `on.received(bytes)`
// and, once, `on.ended(reason)` with null where the broker has closed it.

import { isWebSocket, webSocketOf } from "./addresses.js";

const SUBPROTOCOL = "concord";
const CLOSED_IN_ORDER = new Set([1000, 1001, 1005]);
const UNEXPLAINED = "the WebSocket could not be opened, or broke; the broker's log says why if it refused it";

/** Begin to open a transport. */
export async function open(address, options, on) {
  if (isWebSocket(address)) return openWebSocket(address, webSocketOf(options), on);
  const { openTcp } = await import("./tcp.js");
  return openTcp(address, options.tls, on);
}

function openWebSocket(address, WebSocket, on) {
  const socket = new WebSocket(address, [SUBPROTOCOL]);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => on.opened();
  socket.onmessage = ({ data }) => {
    if (typeof data !== "string") on.received(new Uint8Array(data));
  };
  socket.onclose = ({ code, reason }) => on.ended(CLOSED_IN_ORDER.has(code) ? null : reason || UNEXPLAINED);
  socket.onerror = () => {}; // `onclose` follows, and says as much.
  return {
    send: (bytes) => socket.send(bytes),
    close: (bytes) => {
      if (bytes.length && socket.readyState === WebSocket.OPEN) socket.send(bytes);
      socket.close();
    },
  };
}
