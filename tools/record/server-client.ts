// SPDX-License-Identifier: Apache-2.0
import { Agent, request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { type JsonObject, parseJson, printJson } from "../../packages/kube-objects/src/json/index.ts";
import type { RealCluster } from "../peers/real-cluster.ts";

export interface Exchange {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonObject | string | undefined;
  /** Stop reading a stream after this many lines. */
  readonly lines?: number;
}

export interface Reply {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
}

/** `299 - "text", 299 - "text"` as the texts. */
export function warningsOf({ headers }: Reply): string[] {
  const header = headers["warning"];
  const text = typeof header === "string" ? header : (header ?? []).join(", ");
  return [...text.matchAll(/299 - ("(?:[^"\\]|\\.)*")/g)].map(([, quoted = '""']) => quotedText(quoted));
}

/** The text of a quoted string of HTTP, where a backslash makes any character plain. */
const quotedText = (quoted: string): string => quoted.slice(1, -1).replaceAll(/\\(.)/g, "$1");

const readyWithinMs = 60_000;

/** Sends requests to a real API server as its administrator and keeps the answers to the byte. */
export class ServerClient {
  readonly #url: string;
  readonly #agent: Agent;

  private constructor(url: string, agent: Agent) {
    this.#url = url;
    this.#agent = agent;
  }

  static of({ server, caPem, admin }: RealCluster): ServerClient {
    const agent = new Agent({ ca: caPem, cert: admin.certPem, key: admin.keyPem, keepAlive: true });
    return new ServerClient(server, agent);
  }

  async send(path: string, { method = "GET", headers = {}, body, lines }: Exchange = {}): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const text = typeof body === "object" ? printJson(body) : body;
    // Node sends no length with a DELETE by itself, and the body would be taken for the next request.
    const about = { "content-type": "application/json", "content-length": String(Buffer.byteLength(text ?? "")) };
    const options = { agent: this.#agent, method, headers: { ...(text !== undefined && about), ...headers } };
    const sent = request(`${this.#url}${path}`, options, (response) => {
      const chunks: Buffer[] = [];
      const done = (): void => {
        const bytes = Buffer.concat(chunks);
        resolve({ code: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString() });
      };
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if (lines !== undefined && Buffer.concat(chunks).toString().split("\n").length > lines) {
          done();
          response.destroy();
        }
      });
      response.once("end", done);
      response.once("error", reject);
    });
    sent.once("error", reject);
    sent.end(text);
    return promise;
  }

  async json(path: string, exchange: Exchange = {}): Promise<JsonObject> {
    return parseJson((await this.send(path, exchange)).text) as JsonObject;
  }

  /** Creates an object and fails unless it was created. */
  async create(path: string, body: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<JsonObject> {
    const { code, text } = await this.send(path, { method: "POST", body, headers });
    if (code !== 201) throw new Error(`POST ${path}: ${code} ${text}`);
    return parseJson(text) as JsonObject;
  }

  /** Where objects of this type and namespace are listed and created. */
  async collection({ apiVersion, kind, metadata }: JsonObject): Promise<string> {
    const version = String(apiVersion);
    const root = version.includes("/") ? `/apis/${version}` : `/api/${version}`;
    const { resources = [] } = (await this.json(root)) as { readonly resources?: readonly JsonObject[] };
    const resource = resources.find((one) => one["kind"] === kind && !String(one["name"]).includes("/"));
    if (resource === undefined) throw new Error(`the server has no ${version} ${kind}`);
    const { namespace } = (typeof metadata === "object" ? metadata : {}) as { readonly namespace?: string };
    const inNamespace = resource["namespaced"] === true ? `/namespaces/${namespace || "default"}` : "";
    return `${root}${inNamespace}/${String(resource["name"])}`;
  }

  /** Waits until a GET of a path is answered with a code. */
  async until(path: string, code = 200): Promise<void> {
    const deadline = Date.now() + readyWithinMs;
    while (Date.now() < deadline) {
      if ((await this.send(path)).code === code) return;
      await delay(50);
    }
    throw new Error(`GET ${path} did not answer ${code} within ${readyWithinMs / 1000}s`);
  }

  close(): void {
    this.#agent.destroy();
  }
}
