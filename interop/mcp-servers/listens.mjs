// listens.mjs, loaded before a server with --import: wherever the server means to listen, it does at a free port of
// 127.0.0.1 instead, and says which on stderr.
import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  const then = args.find((a) => typeof a === "function");
  return listen.call(this, 0, "127.0.0.1", () => {
    console.error(`listens on http://127.0.0.1:${this.address().port}`);
    then?.call(this);
  });
};
