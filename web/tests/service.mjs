// What the page tests run against: a service whose address and admin token the environment gives, or the mock.

import { startMock } from "./mock.mjs";

export async function startService() {
  if (process.env.EVERTALLY_URL && process.env.EVERTALLY_TOKEN) {
    return { url: process.env.EVERTALLY_URL.replace(/\/$/, ""), admin: process.env.EVERTALLY_TOKEN, mock: null, close: async () => undefined };
  }
  const mock = await startMock();
  return { url: mock.url, admin: mock.world.admin, mock, close: mock.close };
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
