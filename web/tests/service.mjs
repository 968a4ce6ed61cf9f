// The service behind the page tests: the one that the environment names, one started from the binary
// EVERTALLY_BIN with demo events, or the mock.

import { spawn } from "node:child_process";
import { startMock } from "./mock.mjs";

export async function startService() {
  if (process.env.EVERTALLY_URL && process.env.EVERTALLY_TOKEN) {
    return { url: process.env.EVERTALLY_URL.replace(/\/$/, ""), admin: process.env.EVERTALLY_TOKEN, mock: null, close: async () => undefined };
  }
  if (process.env.EVERTALLY_BIN) return startBinary(process.env.EVERTALLY_BIN);
  const mock = await startMock();
  return { url: mock.url, admin: mock.world.admin, mock, close: mock.close };
}

/** Starts a service of its own, which keeps nothing, and waits until it has said where it is. */
async function startBinary(path) {
  const child = spawn(path, ["serve", "--demo", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });
  let told = "";
  const [, url, admin] = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`the service ended with ${code}`)));
    child.stdout.on("data", (piece) => {
      told += piece;
      const found = /^open (\S+)\/#token=(\S+)$[^]*^listening/m.exec(told);
      if (found) resolve(found);
    });
  });
  const close = () => new Promise((resolve) => {
    child.removeAllListeners("exit");
    child.on("exit", resolve);
    child.kill("SIGTERM");
  });
  return { url, admin, mock: null, close };
}

/** Calls a route with the admin token. */
export async function call(service, method, path, body) {
  const response = await fetch(`${service.url}/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${service.admin}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? null : response.json();
}
