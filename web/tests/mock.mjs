// The HTTP interface of `evertally serve` over mock data.
// `node tests/mock.mjs [few|none|many]` serves the page for development.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { Refusal, World } from "./mock-world.mjs";

const DIST = new URL("../../crates/evertally-server/page/", import.meta.url);
const ASSETS = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/app.js": ["app.js", "text/javascript; charset=utf-8"],
  "/app.css": ["app.css", "text/css; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
  "/latin.woff2": ["latin.woff2", "font/woff2"],
  "/greek.woff2": ["greek.woff2", "font/woff2"],
  "/licenses.txt": ["licenses.txt", "text/plain; charset=utf-8"],
};
const HEADERS = {
  "content-security-policy": "default-src 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

function authorise(world, request, ...roles) {
  const sent = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  const token = [...world.tokens.values()].find((each) => each.token === sent && (each.expires === null || Date.parse(each.expires) > Date.now()));
  if (!token) throw new Refusal(401, "unauthorized", "a token is needed that is known and has not expired");
  if (roles.length > 0 && token.role !== "admin" && !roles.includes(token.role)) throw new Refusal(403, "forbidden", "the token's role does not allow this");
  return token;
}

function thin(releases, points) {
  if (!points || releases.length <= points) return releases;
  return Array.from({ length: points }, (_, i) => releases[Math.round((i * (releases.length - 1)) / (points - 1))]);
}

function releasesOf(counter, query) {
  const first = Number(query.get("first") ?? 0);
  const last = Number(query.get("last") ?? Number.POSITIVE_INFINITY);
  const key = query.get("key");
  const series = counter.series.filter((each) => key === null || each.key === key);
  return series.flatMap((each) => thin(each.releases.filter((release) => release.step >= first && release.step <= last), Number(query.get("points")))).sort((a, b) => a.step - b.step);
}

function sum(counter, query) {
  if (counter.workload !== "prefix-sum") throw new Refusal(422, "unsupported", "interval sums need a prefix sum");
  const [first, last, key] = [Number(query.get("first")), Number(query.get("last")), query.get("key")];
  const { releases } = counter.series.find((each) => each.key === key) ?? counter.series[0];
  if (!(first <= last) || last >= releases.length) throw new Refusal(400, "bad-parameter", "last: expected a released step from first on");
  const value = releases[last].value - (releases[first - 1]?.value ?? 0);
  const error = releases[last].standard_error * Math.min(1, 0.4 + (last - first) / 2000);
  return { first, last, key, value, standard_error: error, lower: value - 1.96 * error, upper: value + 1.96 * error };
}

function live(world, counter, request, response, query, drops) {
  response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
  let next = request.headers["last-event-id"] === undefined ? Number(query.get("from") ?? counter.next_step) : Number(request.headers["last-event-id"]) + 1;
  const send = (event) => {
    if (event.step < next) return;
    next = event.step + 1;
    response.write(`event: release\nid: ${event.step}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  response.write(": here\n\n");
  for (let step = next; step < counter.next_step; step += 1) {
    const releases = counter.series.map((each) => each.releases[step]);
    send({ step, time: releases[0].time, releases });
  }
  const listener = (of, event) => of === counter && send(event);
  world.listeners.add(listener);
  const beat = setInterval(() => {
    response.write(": still here\n\n");
    if (counter.status === "retired" || counter.status === "ended") response.end("event: end\ndata: {}\n\n");
  }, 500);
  drops.add(response);
  response.on("close", () => {
    drops.delete(response);
    world.listeners.delete(listener);
    clearInterval(beat);
  });
}

async function bodyOf(request) {
  let text = "";
  for await (const piece of request) text += piece;
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    throw new Refusal(400, "bad-parameter", "the body is not JSON");
  }
}

/** Answers one request: [status, body]; undefined where the answer was written already. */
async function answer(world, request, response, drops) {
  const url = new URL(request.url, "http://localhost");
  const [, version, kind, rawName, action] = url.pathname.split("/");
  const name = rawName === undefined ? undefined : decodeURIComponent(rawName);
  const query = url.searchParams;
  const allow = (...roles) => authorise(world, request, ...roles);
  const changes = () => {
    if (world.mode === "read-only") throw new Refusal(503, "read-only", "the service is read-only");
  };
  if (version !== "v1") throw new Refusal(404, "not-found", "there is nothing here");
  const route = `${request.method} ${kind}${name === undefined ? "" : "/…"}${action === undefined ? "" : `/${action}`}`;
  switch (route) {
    case "GET status": {
      const token = allow();
      const counters = { running: 0, fenced: 0, retired: 0, ended: 0 };
      for (const counter of world.counters.values()) counters[counter.status] += 1;
      return [200, { version: "0.0.0", mode: world.mode, reason: world.reason, now: new Date().toISOString(), started: world.started, counters, role: token.role, token_name: token.name }];
    }
    case "GET populations": return allow("read"), [200, { populations: [...world.populations.keys()].sort().map((each) => world.showPopulation(each)) }];
    case "POST populations": return allow(), adminOnly(), changes(), [201, world.createPopulation(await bodyOf(request))];
    case "GET counters": {
      allow("read");
      const limit = Math.min(1000, Number(query.get("limit") ?? 100));
      const all = [...world.counters.keys()].filter((each) => !query.get("status") || world.counters.get(each).status === query.get("status")).sort();
      const from = query.get("after") === null ? 0 : all.findIndex((each) => each > query.get("after"));
      const page = from < 0 ? [] : all.slice(from, from + limit);
      return [200, { counters: page.map((each) => world.show(world.counter(each))), total: all.length, next: from + limit < all.length && from >= 0 ? page.at(-1) : null }];
    }
    case "POST counters": return allow(), adminOnly(), changes(), [201, world.show(world.createCounter(await bodyOf(request)))];
    case "POST plan": return allow("read"), [200, world.preview(await bodyOf(request))];
    case "GET counters/…": return allow("read"), [200, world.show(world.counter(name))];
    case "GET counters/…/releases": {
      allow("read");
      const releases = releasesOf(world.counter(name), query);
      if (query.get("format") === "csv") return [200, `step,value\n${releases.map((each) => `${each.step},${each.value}`).join("\n")}\n`, "text/csv"];
      return [200, { counter: name, releases, next: null }];
    }
    case "GET counters/…/sum": return allow("read"), [200, sum(world.counter(name), query)];
    case "GET counters/…/live": return allow("read"), live(world, world.counter(name), request, response, query, drops), undefined;
    case "POST counters/…/advance": {
      allow("ingest");
      const counter = world.counter(name);
      if (counter.step !== null) throw new Refusal(409, "conflict", "this counter has a clock");
      const releases = world.close(counter);
      return [200, { next_step: counter.next_step, releases }];
    }
    case "POST counters/…/retire": {
      allow();
      adminOnly();
      const counter = world.counter(name);
      counter.status = "retired";
      return [200, world.show(counter)];
    }
    case "DELETE counters/…": {
      allow();
      adminOnly();
      if (!["retired", "ended"].includes(world.counter(name).status)) throw new Refusal(409, "conflict", "only a retired or ended counter can be deleted");
      world.counters.delete(name);
      return [204];
    }
    case "GET tokens": return allow(), adminOnly(), [200, { tokens: [...world.tokens.values()].map(({ token: _secret, ...each }) => each) }];
    case "POST tokens": return allow(), adminOnly(), [201, world.makeToken(await bodyOf(request))];
    case "DELETE tokens/…": {
      allow();
      adminOnly();
      const admins = [...world.tokens.values()].filter((each) => each.role === "admin" && each.expires === null);
      if (admins.length === 1 && admins[0].id === name) throw new Refusal(409, "conflict", "this is the last admin token that does not expire");
      world.tokens.delete(name);
      return [204];
    }
    case "GET epoch": return allow(), adminOnly(), [200, world.epochPreview()];
    case "POST epoch": return allow(), adminOnly(), [200, world.startEpoch()];
    default: throw new Refusal(404, "not-found", "there is nothing here");
  }
  function adminOnly() {
    if (authorise(world, request).role !== "admin") throw new Refusal(403, "forbidden", "the token's role does not allow this");
  }
}

export async function startMock({ scene = "few", port = 0 } = {}) {
  const world = new World({ scene });
  const drops = new Set();
  const server = createServer(async (request, response) => {
    const asset = ASSETS[request.url.split("?")[0]];
    if (asset && request.method === "GET") {
      response.writeHead(200, { ...HEADERS, "content-type": asset[1] });
      return response.end(await readFile(new URL(asset[0], DIST)));
    }
    try {
      const answered = await answer(world, request, response, drops);
      if (!answered) return;
      const [status, body, type = "application/json"] = answered;
      response.writeHead(status, { ...HEADERS, "content-type": type });
      response.end(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body));
    } catch (cause) {
      const status = cause instanceof Refusal ? cause.status : 500;
      response.writeHead(status, { ...HEADERS, "content-type": "application/json" });
      response.end(JSON.stringify({ error: { class: cause.className ?? "system", message: cause.message, field: cause.field ?? null } }));
      if (!(cause instanceof Refusal)) console.error(cause);
    }
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  const timer = setInterval(() => world.tick(), 200);
  return {
    world,
    url: `http://127.0.0.1:${server.address().port}`,
    /** Cuts every live connection, as a network does. */
    drop: () => drops.forEach((response) => response.destroy()),
    close: () => {
      clearInterval(timer);
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const mock = await startMock({ scene: process.argv[2] ?? "few", port: Number(process.env.PORT ?? 4180) });
  console.log(`admin   ${mock.url}/#token=${mock.world.admin}\nread    ${mock.url}/#token=${mock.world.read}`);
}
