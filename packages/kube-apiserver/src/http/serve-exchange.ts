// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import { type Flow, inFlow, inOwnFlow, Turns } from "@purlin/base";
import type { BeginAudit } from "../audit/audit.ts";
import {
  authenticate,
  type CertificateSubject,
  mastersGroup,
  type TokenAuthenticator,
  type User,
} from "../auth/user.ts";
import {
  type ApiRequest,
  type ApiResponse,
  type CompleteResponse,
  type EventStream,
  type RequestAudit,
  type RequestBody,
  type RequestOrigin,
  StreamAbortedError,
  type StreamEvent,
  type StreamResponse,
} from "../request/api-request.ts";
import { errorResponse, isUnexpected } from "../request/negotiate.ts";
import { requestTarget } from "../request/request-target.ts";
import type { Exchange, Outlet } from "./exchange.ts";
import { isExempt, type RequestsInFlight } from "./requests-in-flight.ts";
import { responseHeaders, writeComplete } from "./write-complete.ts";

interface StreamOptions {
  readonly auditId: string;
  /** Called with the error that ended a stream early. */
  readonly failed: (error: unknown) => void;
}

/** Events are written together up to this many bytes. */
const writtenAtOnce = 256 * 1024;

/** Moves events from a stream to a client. What the client does not take yet stays in the stream. */
class EventPump {
  readonly #outlet: Outlet;
  readonly #stream: EventStream;
  readonly #failed: (error: unknown) => void;
  /** Events that were taken and not written yet: the bytes of large ones are made when they are written. */
  #taken: readonly StreamEvent[] = [];
  #blocked = false;
  #ended = false;

  constructor(response: StreamResponse, outlet: Outlet, failed: (error: unknown) => void) {
    this.#outlet = outlet;
    this.#failed = failed;
    this.#stream = response.open(() => this.#pump());
    // A connection, which many requests can share, is part of no flow.
    outlet.onDrain(
      inOwnFlow(() => {
        this.#blocked = false;
        this.#pump();
      }),
    );
    this.#pump();
  }

  close(): void {
    this.#ended = true;
    this.#taken = [];
    this.#stream.close();
  }

  /** The caller, a timer or the store, is independent of this client and must not fail with it. */
  #pump(): void {
    try {
      this.#move();
    } catch (error) {
      this.close();
      if (error instanceof StreamAbortedError) {
        this.#outlet.abort();
        return;
      }
      this.#outlet.end();
      this.#failed(error);
    }
  }

  #move(): void {
    while (!this.#blocked && !this.#ended) {
      const events = this.#taken.length > 0 ? this.#taken : this.#stream.take();
      if (events === undefined) {
        this.#ended = true;
        this.#outlet.end();
        return;
      }
      if (events.length === 0) return;
      this.#taken = events;
      this.#blocked = !this.#outlet.write(this.#nextBytes());
    }
  }

  #nextBytes(): Uint8Array {
    const parts: Uint8Array[] = [];
    let [bytes, count] = [0, 0];
    for (; bytes < writtenAtOnce && count < this.#taken.length; count++) {
      for (const part of this.#taken[count]?.parts() ?? []) {
        parts.push(part);
        bytes += part.length;
      }
    }
    this.#taken = this.#taken.slice(count);
    return Buffer.concat(parts, bytes);
  }
}

/** The API server as its listener sees it. */
export interface Front {
  readonly tokens: readonly TokenAuthenticator[];
  /** Whether a client certificate is refused; undefined: none is. */
  readonly isRevoked?: (certificate: CertificateSubject) => boolean;
  /** Never rejects: what goes wrong is a Status. */
  readonly handle: (request: ApiRequest) => Promise<ApiResponse>;
  /** Limits what one user may have under way; undefined: nothing does. */
  readonly inFlight?: RequestsInFlight;
  /** Limits how many large responses of one user are in memory; undefined: nothing does. */
  readonly largeResponses?: RequestsInFlight;
  /** Limits how many connections of one user may switch to another protocol; undefined: nothing does. */
  readonly upgraded?: RequestsInFlight;
  /** Begins the record of a request in the audit log. */
  readonly audit?: BeginAudit | undefined;
  /** Called with the error of a response that could not be written; the client sees only that there was an error. */
  readonly onUnexpected?: (error: unknown, request: RequestLine) => void;
}

/** What a request was for. */
export type RequestLine = Pick<ApiRequest, "method" | "path">;

/** Larger bodies are refused, as the reference does. */
export const maxBodyBytes: number = 3 * 1024 * 1024;

/** Answers one HTTP request. Never rejects: an answer that cannot be written, as one too long for a text, is a failure of its own. */
export async function serveExchange(exchange: Exchange, front: Front): Promise<void> {
  const { method, url, headers } = exchange;
  const { path, query } = splitUrl(url);
  const auditId = headers["audit-id"] ?? randomUUID();
  const origin = { auditId, uri: url, address: exchange.address };
  const failed = (error: unknown): void => front.onUnexpected?.(error, { method, path });
  let end: (() => void) | undefined;
  let user: User | undefined;
  let isHandled = false;
  try {
    user = userOf(exchange, front);
    end = isExempt(path) ? undefined : await front.inFlight?.begin(user.name, (callback) => exchange.onGone(callback));
    if (exchange.incoming !== undefined) await holdConnection(exchange, front, user);
    const request = new ExchangeRequest(exchange, user, origin);
    await inFlow(flowOf(request), async () => {
      // Hundreds of requests that arrive together would hold the event loop for as long as all of them take.
      const turns = new Turns();
      if (turns.isOver) await turns.next();
      isHandled = true;
      const response = await front.handle(request);
      if (response.kind === "stream") {
        writeStream(exchange, response, { auditId, failed });
      } else {
        const { name } = request.user;
        const beginLarge = async (): Promise<(() => void) | undefined> => {
          await exchange.whenNext?.();
          // What a write has done is not refused afterwards.
          return front.largeResponses?.begin(name, (callback) => exchange.onGone(callback), method === "GET");
        };
        await writeComplete(exchange, response, { auditId, beginLarge });
      }
    });
  } catch (error) {
    if (isUnexpected(error)) failed(error);
    const response = errorResponse(error, { headers, query });
    if (!isHandled) auditRefusal(front, { method, path, query, headers, origin, user }, response);
    await writeComplete(exchange, response, { auditId }).catch(failed);
  } finally {
    end?.();
  }
}

/** The requests of each user wait for each other, as with priority and fairness; probes, and those of operators, do not wait for all of them. */
function flowOf({ user, path }: ApiRequest): Flow {
  if (isExempt(path)) return { level: "probes", name: "" };
  return { level: user.groups.includes(mastersGroup) ? "system" : "users", name: `user ${user.name}` };
}

/** Counts a connection that is to switch protocols until it is closed. */
async function holdConnection(exchange: Exchange, { upgraded }: Front, { name }: User): Promise<void> {
  const release = await upgraded?.begin(name);
  if (release !== undefined) exchange.onGone(release);
}

interface RefusedRequest extends Pick<ApiRequest, "method" | "path" | "query" | "headers" | "origin"> {
  readonly user: User | undefined;
}

/** A request that is refused before it is handled is logged as well. */
function auditRefusal({ audit }: Front, request: RefusedRequest, response: CompleteResponse): void {
  const { method, path, query, user } = request;
  const record = audit?.(request, user, requestTarget(method, path, query));
  if (user === undefined) record?.rejected(response);
  else void record?.completed(response);
}

function userOf({ certificate, headers }: Exchange, { tokens, isRevoked }: Front): User {
  return authenticate({ certificate, authorization: headers["authorization"] }, tokens, isRevoked);
}

function splitUrl(url: string): Pick<ApiRequest, "path" | "query"> {
  const question = url.indexOf("?");
  return question === -1
    ? { path: url, query: new URLSearchParams() }
    : { path: url.slice(0, question), query: new URLSearchParams(url.slice(question + 1)) };
}

/** An exchange as a request. Most requests never look at their signal, so it is made when they do. */
class ExchangeRequest implements ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Exchange["headers"];
  readonly body: RequestBody;
  readonly user: User;
  readonly origin: RequestOrigin;
  audit?: RequestAudit | undefined;
  readonly isUpgradable: boolean;
  readonly #exchange: Exchange;
  #signal: AbortSignal | undefined;

  constructor(exchange: Exchange, user: User, origin: RequestOrigin) {
    const { method, url, headers, hasBody } = exchange;
    const { path, query } = splitUrl(url);
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.body = hasBody ? { kind: "bytes", read: () => exchange.readBody(maxBodyBytes) } : { kind: "none" };
    this.user = user;
    this.origin = origin;
    this.isUpgradable = exchange.incoming !== undefined;
    this.#exchange = exchange;
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const controller = new AbortController();
      this.#signal = controller.signal;
      this.#exchange.onGone(() => controller.abort(new Error("the client has gone")));
    }
    return this.#signal;
  }
}

/** Sends events as they come, no faster than the client reads. An event that cannot be written ends the stream. */
function writeStream(exchange: Exchange, response: StreamResponse, { auditId, failed }: StreamOptions): void {
  const { code, headers = {}, contentType, accept } = response;
  const outlet = exchange.begin(
    code,
    accept === undefined ? responseHeaders(response, contentType, auditId) : { ...headers },
  );
  const pump = new EventPump(response, outlet, failed);
  exchange.onGone(() => pump.close());
  if (accept !== undefined) exchange.incoming?.pipe(accept);
}
