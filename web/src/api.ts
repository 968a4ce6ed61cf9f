/** The service's routes as typed functions. Failures are `Problem`s; a refused token ends the session. */

import { Problem } from "./problem";
import type {
  AdvanceResult, Counter, Counters, CreatedToken, Draft, EpochPreview, EpochResult, ErrorBody, NewCounter, Population,
  PopulationDraft, Populations, Preview, Releases, ServiceStatus, Sum, TokenDraft, Tokens,
} from "./types";

interface Options {
  method?: string;
  body?: unknown;
  accept?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export interface ReleaseQuery {
  first?: number | undefined;
  last?: number | undefined;
  key?: string | undefined;
  limit?: number | undefined;
  points?: number | undefined;
  format?: "json" | "csv" | "arrow" | undefined;
}

function query(parameters: object): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
  return pairs.length === 0 ? "" : `?${pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&")}`;
}

function counterPath(name: string): string {
  return `/v1/counters/${encodeURIComponent(name)}`;
}

async function problemOf(response: Response): Promise<Problem> {
  const wait = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfter = Number.isFinite(wait) ? wait : null;
  try {
    const { error } = (await response.json()) as ErrorBody;
    return new Problem(response.status, error.class, error.message, error.field, retryAfter);
  } catch {
    return new Problem(response.status, "unknown", `the service answered ${response.status}`, null, retryAfter);
  }
}

export class Api {
  constructor(
    private readonly token: string,
    private readonly onRefused: (problem: Problem) => void,
  ) {}

  async fetch(path: string, options: Options = {}): Promise<Response> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.token}`, Accept: options.accept ?? "application/json", ...options.headers };
    const init: RequestInit = { method: options.method ?? "GET", headers, cache: "no-store", credentials: "omit" };
    if (options.body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(options.body);
    }
    if (options.signal) init.signal = options.signal;
    let response: Response;
    try {
      response = await fetch(path, init);
    } catch (cause) {
      if (options.signal?.aborted) throw cause;
      throw new Problem(0, "unreachable", "no answer");
    }
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (problem.status === 401) this.onRefused(problem);
    throw problem;
  }

  private async json<T>(path: string, options: Options = {}): Promise<T> {
    return (await (await this.fetch(path, options)).json()) as T;
  }

  status = (signal?: AbortSignal) => this.json<ServiceStatus>("/v1/status", { signal });

  populations = async (signal?: AbortSignal) => (await this.json<Populations>("/v1/populations", { signal })).populations;
  createPopulation = (body: PopulationDraft) => this.json<Population>("/v1/populations", { method: "POST", body });

  counters = (parameters: { limit?: number; after?: string | undefined; status?: string | undefined }, signal?: AbortSignal) =>
    this.json<Counters>(`/v1/counters${query(parameters)}`, { signal });
  counter = (name: string, signal?: AbortSignal) => this.json<Counter>(counterPath(name), { signal });
  createCounter = (body: NewCounter) => this.json<Counter>("/v1/counters", { method: "POST", body });
  plan = (body: Draft, signal?: AbortSignal) => this.json<Preview>("/v1/plan", { method: "POST", body, signal });

  releases = (name: string, parameters: ReleaseQuery, signal?: AbortSignal) =>
    this.json<Releases>(`${counterPath(name)}/releases${query(parameters)}`, { signal });
  download = async (name: string, parameters: ReleaseQuery) =>
    (await this.fetch(`${counterPath(name)}/releases${query(parameters)}`, { accept: "*/*" })).blob();
  sum = (name: string, parameters: { first: number; last: number; key?: string | undefined }, signal?: AbortSignal) =>
    this.json<Sum>(`${counterPath(name)}/sum${query(parameters)}`, { signal });
  live = (name: string, from: number, lastEventId: string | null, signal: AbortSignal) => {
    const headers: Record<string, string> = lastEventId === null ? {} : { "Last-Event-ID": lastEventId };
    return this.fetch(`${counterPath(name)}/live${query({ from })}`, { accept: "text/event-stream", headers, signal });
  };

  advance = (name: string, steps: number) => this.json<AdvanceResult>(`${counterPath(name)}/advance`, { method: "POST", body: { steps } });
  retire = (name: string) => this.json<Counter>(`${counterPath(name)}/retire`, { method: "POST" });
  remove = (name: string) => this.fetch(counterPath(name), { method: "DELETE" });

  tokens = async (signal?: AbortSignal) => (await this.json<Tokens>("/v1/tokens", { signal })).tokens;
  createToken = (body: TokenDraft) => this.json<CreatedToken>("/v1/tokens", { method: "POST", body });
  revoke = (id: string) => this.fetch(`/v1/tokens/${encodeURIComponent(id)}`, { method: "DELETE" });

  epoch = (signal?: AbortSignal) => this.json<EpochPreview>("/v1/epoch", { signal });
  startEpoch = () => this.json<EpochResult>("/v1/epoch", { method: "POST", body: { confirm: true } });
}
