// SPDX-License-Identifier: Apache-2.0
// Calls of webhooks over HTTPS, for admission and for conversion. Errors have the texts of the reference, whose client is Go's.
import { Buffer } from "node:buffer";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { inTurns, type Work } from "@purlin/base";
import { type VerifiedRequestOptions, VerifyingAgent } from "@purlin/certificates/peer";
import {
  countJsonValues,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  parsingJson,
} from "@purlin/kube-objects/json";
import { numberAt, stringAt } from "@purlin/kube-objects/object";
import { maxValues } from "../request/negotiate.ts";
import { readingYaml } from "../request/yaml-body.ts";
import { goNetworkError, statusCodeText } from "./go-network-error.ts";

/** Where the requests for a Service go. */
export interface ServiceAddress {
  readonly host: string;
  readonly port: number;
  /** Where a program beside the server is reached instead. */
  readonly socketPath?: string | undefined;
}

/** Finds the address of a Service. Fails with an Error with the text of the reference when there is none. */
export type ResolveService = (service: {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}) => ServiceAddress | Promise<ServiceAddress>;

/** One call. */
interface WebhookCall {
  /** The `clientConfig` of the webhook. */
  readonly config: JsonObject;
  readonly body: string;
  readonly timeoutMs: number;
  readonly userAgent: string;
  readonly signal?: AbortSignal;
  /** Most values of a response; as many as a request may have unless given. */
  readonly mostValues?: number | undefined;
}

/** A call that failed, with the text of the reference. */
export class WebhookCallError extends Error {
  /** The code that the response had, or that the reference gives to a call without a useful response. */
  readonly code: number;

  constructor(message: string, { code = 503, ...options }: ErrorOptions & { readonly code?: number } = {}) {
    super(message, options);
    this.code = code;
  }
}

const maxResponseBytes = 8 * 1024 * 1024;
/** As long as a body of a request may be: YAML takes far longer to read than JSON. */
const maxYamlLength = 3 * 1024 * 1024;
const maxRedirects = 10;
const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/;

/** Sends reviews to webhooks. Connections are kept and shared. */
export class WebhookClient {
  readonly #resolve: ResolveService;
  readonly #agent = new VerifyingAgent({ keepAlive: true, maxFreeSockets: 25, scheduling: "lifo" });

  constructor(resolve: ResolveService) {
    this.#resolve = resolve;
  }

  /** The JSON that the webhook answers with. Throws a {@link WebhookCallError} when it does not answer, or with something else. */
  async post(call: WebhookCall): Promise<JsonValue> {
    const seconds = Math.max(1, Math.ceil(call.timeoutMs / 1000));
    const { config } = call;
    const route = { url: urlOf(config, seconds) };
    const ending = endingOf(call);
    try {
      const { signal } = ending;
      const options = { ...(await this.#options(config)), signal, handshakeSignal: signal, agent: this.#agent };
      const { body, userAgent } = call;
      return await inTurns(
        readingReview(
          await this.#send(route, { method: "POST", body, userAgent, options }),
          call.mostValues ?? maxValues,
        ),
      );
    } catch (error) {
      if (error instanceof WebhookCallError) throw error;
      const text = ending.isLate() ? "context deadline exceeded" : goNetworkError(error);
      throw new WebhookCallError(`Post ${JSON.stringify(route.url.toString())}: ${text}`, { cause: error });
    } finally {
      ending[Symbol.dispose]();
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #options(config: JsonObject): Promise<VerifiedRequestOptions> {
    const bundle = stringAt(config, ["caBundle"]);
    const service = config["service"];
    const name = isJsonObject(service) ? `${stringAt(service, ["name"])}.${stringAt(service, ["namespace"])}.svc` : "";
    const address = isJsonObject(service) ? await this.#resolve(serviceOf(service)) : undefined;
    return {
      ...(bundle !== "" && { ca: authorities(config, bundle), allowPartialTrustChain: true }),
      ...(name !== "" && { servername: name }),
      ...(address && { host: address.host, port: address.port }),
      ...(address?.socketPath !== undefined && { socketPath: address.socketPath }),
    };
  }

  /** Follows redirects; `route` has the address of the last request. */
  async #send(route: { url: URL }, sent: Sent, redirects = 0): Promise<Answer> {
    const { url } = route;
    const answer = await exchange(url, sent).catch((error: unknown) => {
      // The webhook closed an idle connection at the moment that it was used again.
      if (error instanceof StaleConnectionError) return exchange(url, sent);
      throw error;
    });
    const { location } = answer;
    if (location === undefined) return answer;
    if (redirects === maxRedirects) throw new Error(`stopped after ${maxRedirects} redirects`);
    const keepsMethod = answer.code === 307 || answer.code === 308;
    route.url = new URL(location, url);
    const { host: _, port: __, servername: ___, socketPath: ____, ...options } = sent.options;
    return this.#send(
      route,
      { ...sent, options, ...(!keepsMethod && { method: "GET", body: undefined }) },
      redirects + 1,
    );
  }
}

/** The end of a call: its deadline, or the end of the request that makes it. */
interface Ending extends Disposable {
  readonly signal: AbortSignal;
  readonly isLate: () => boolean;
}

/** AbortSignal.timeout and AbortSignal.any cost more than the timer and the listener that they stand for, and stay after the call. */
function endingOf({ timeoutMs, signal }: WebhookCall): Ending {
  const controller = new AbortController();
  let isLate = false;
  const end = (): void => controller.abort(signal?.reason);
  const timer = setTimeout(() => {
    isLate = true;
    controller.abort();
  }, timeoutMs);
  timer.unref();
  if (signal?.aborted) end();
  else signal?.addEventListener("abort", end, { once: true });
  return {
    signal: controller.signal,
    isLate: () => isLate,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
    },
  };
}

interface Sent {
  readonly method: string;
  readonly body: string | undefined;
  readonly userAgent: string;
  readonly options: VerifiedRequestOptions;
}

interface Answer {
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer;
  readonly location: string | undefined;
}

/** The certificates of a webhook's bundle. They are read once for each configuration that is stored. */
function authorities(config: JsonObject, bundle: string): string {
  const known = readBundles.get(config) ?? readBundle(bundle);
  readBundles.set(config, known);
  return known;
}

const readBundles = new WeakMap<JsonObject, string>();

function readBundle(bundle: string): string {
  const pem = Buffer.from(bundle, "base64").toString();
  if (!pemBlock.test(pem)) {
    throw new WebhookCallError("unable to load root certificates: unable to parse bytes as PEM block");
  }
  return pem;
}

function serviceOf(service: JsonObject): { readonly namespace: string; readonly name: string; readonly port: number } {
  return {
    namespace: stringAt(service, ["namespace"]),
    name: stringAt(service, ["name"]),
    port: numberAt(service, ["port"]) || 443,
  };
}

function urlOf(config: JsonObject, seconds: number): URL {
  const service = config["service"];
  const url = isJsonObject(service) ? serviceUrl(service) : stringAt(config, ["url"]);
  return new GoUrl(url, `timeout=${seconds}s`);
}

/** A URL that is printed with its port, as Go does. */
class GoUrl extends URL {
  readonly #shown: string;

  constructor(url: string, query: string) {
    super(`${url}?${query}`);
    this.#shown = `${url}?${query}`;
  }

  override toString(): string {
    return this.#shown;
  }
}

function serviceUrl(service: JsonObject): string {
  const { namespace, name, port } = serviceOf(service);
  const path = stringAt(service, ["path"]);
  return `https://${name}.${namespace}.svc:${port}${path === "" ? "/" : path}`;
}

/** The error of a kept connection that was closed before a response arrived. The request can be sent again. */
class StaleConnectionError extends Error {}

const closed: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE"]);

function exchange(url: URL, { method, body, userAgent, options }: Sent): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const host = url.hostname.replace(/^\[|\]$/g, "");
  let hasResponse = false;
  const request = httpsRequest(
    {
      host,
      port: url.port === "" ? 443 : Number(url.port),
      ...(isIP(host) === 0 && { servername: host }),
      path: `${url.pathname}${url.search}`,
      method,
      ...options,
      headers: {
        host: url.host,
        accept: "application/json, */*",
        "user-agent": userAgent,
        ...(body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      },
    },
    (response) => {
      hasResponse = true;
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxResponseBytes) {
          request.destroy(new Error(`the response has more than ${maxResponseBytes} bytes`));
        } else {
          chunks.push(chunk);
        }
      });
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          code: response.statusCode ?? 0,
          contentType: response.headers["content-type"] ?? "",
          body: Buffer.concat(chunks),
          location: isRedirect(response.statusCode ?? 0) ? response.headers.location : undefined,
        }),
      );
    },
  );
  request.on("error", (error: NodeJS.ErrnoException) => {
    const isStale = request.reusedSocket && !hasResponse && error.code !== undefined && closed.has(error.code);
    reject(isStale ? new StaleConnectionError(error.message, { cause: error }) : error);
  });
  // Without a listener, neither a response nor an error would follow, and the call would never end.
  request.on("upgrade", (_response, socket) => {
    socket.destroy();
    reject(new Error("unexpected upgrade of the connection"));
  });
  request.end(body);
  return promise;
}

function isRedirect(code: number): boolean {
  return [301, 302, 303, 307, 308].includes(code);
}

function* readingReview({ code, contentType, body }: Answer, mostValues: number): Work<JsonValue> {
  if (code < 200 || code > 206) throw new WebhookCallError(failureText(code, contentType, body), { code });
  if (body.length === 0) {
    const type = contentType || "application/json";
    throw new WebhookCallError(`0-length response with status code: ${code} and content type: ${type}`);
  }
  const text = body.toString();
  // The reference reads what does not begin like an object as YAML. A list is not a review in either.
  return /^\s*[[{]/.test(text) ? yield* readingJsonReview(text, mostValues) : yield* readingYamlReview(text);
}

function* readingJsonReview(text: string, mostValues: number): Work<JsonValue> {
  try {
    return yield* parsingJson(text, (values) => {
      if (values > mostValues) throw new WebhookCallError(`the response has more than ${mostValues} values`);
    });
  } catch (error) {
    if (error instanceof WebhookCallError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new WebhookCallError(`couldn't get version/kind; json parse error: ${why}`, { cause: error });
  }
}

function* readingYamlReview(body: string): Work<JsonValue> {
  if (body.length > maxYamlLength)
    throw new WebhookCallError(`the response has more than ${maxYamlLength} characters of YAML`);
  try {
    return (yield* readingYaml(body)).value;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new WebhookCallError(why.replace(/^error converting YAML to JSON: /, ""), { cause: error });
  }
}

const maxMessageBytes = 2048;
/** More of the message of a Status is cut: it goes into responses, events and conditions. */
const maxStatusCharacters = 16 * 1024;

/** The message of a Status; for any other response the text of its code, with the first bytes of a body that is text. */
function failureText(code: number, contentType: string, body: Buffer): string {
  const status = statusOf(body.toString());
  if (status !== undefined) return status;
  const isText = contentType === "" || /^\s*text\//i.test(contentType);
  return statusCodeText(code, isText ? body.subarray(0, maxMessageBytes).toString().trim() : "unknown");
}

function statusOf(text: string): string | undefined {
  if (countJsonValues(text) > maxValues) return undefined;
  try {
    const value = parseJson(text);
    if (!isJsonObject(value) || value["kind"] !== "Status") return undefined;
    return stringAt(value, ["message"]).slice(0, maxStatusCharacters);
  } catch {
    return undefined;
  }
}
