// TCP, with or without TLS, for Node.

import { connect as connectTcp, isIP } from "node:net";
import { connect as connectTls } from "node:tls";

const LINGER_MS = 1000;

/** Begin to open a connection to HOST:PORT. `tls` has what Node's `tls.connect` takes; without it there is no TLS. */
export function openTcp(address, tls, on) {
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(address);
  const where = { host, port: Number(port), noDelay: true };
  const named = isIP(host) ? {} : { servername: host };
  const socket = tls ? connectTls({ ...where, ...named, ...(tls === true ? {} : tls) }) : connectTcp(where);
  let reason = null;
  socket.on(tls ? "secureConnect" : "connect", () => on.opened());
  socket.on("data", (chunk) => on.received(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length)));
  socket.on("error", (error) => {
    reason = error.code === "ECONNREFUSED" ? "connection refused" : error.message;
  });
  socket.on("close", () => on.ended(reason));
  return {
    send: (bytes) => socket.write(bytes),
    close: (bytes) => {
      if (!socket.writable) {
        socket.destroy();
        return;
      }
      // Closing a socket with unread bytes takes back what the other end has not read yet.
      socket.end(bytes);
      socket.resume();
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    },
  };
}
