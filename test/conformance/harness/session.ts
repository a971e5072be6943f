// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { printJson } from "@purlin/kube-objects/json";
import { type CommandLine, type CommandResult, runCommand } from "./command.ts";
import { type KubectlOptions, runKubectl } from "./kubectl.ts";
import type { Loose } from "./loose.ts";
import { Normaliser } from "./normalise.ts";
import type { ServerUnderTest } from "./server-under-test.ts";
import { asJson, send, type Target, type WireResponse } from "./wire.ts";
import { openStream, type WireStream } from "./wire-stream.ts";

/** One step of a conversation: what was asked and, normalised, what came back. */
export interface Exchange {
  readonly asked: string;
  readonly answer: unknown;
}

/** An answer with its body open to be read. */
export type Answer = WireResponse & { readonly body: Loose };

/** Options of one request. */
export interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  /** Names of answer headers to compare, besides the content type and warnings. */
  readonly compareHeaders?: readonly string[];
  /** Leaves the exchange out of the transcript: set-up and waiting, where timing may differ. */
  readonly quiet?: boolean;
  /** Compares this part of the body instead of all of it. */
  readonly part?: (body: Loose) => unknown;
  /** Other credentials than the administrator's. */
  readonly as?: Partial<Target>;
  /** Distinguishes entries of the transcript that have the same path. */
  readonly title?: string;
  /** Shows every bookmark of a watch that asked for some, and not only the one that ends the initial events. */
  readonly everyBookmark?: boolean;
}

const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** The patches a server knows. */
export type PatchType = keyof typeof patchTypes;

const patienceMs = 60_000;

/** A conversation with one server, recorded so that it can be compared with the same conversation with another. */
export class Session {
  readonly server: ServerUnderTest;
  /** A namespace of this case's own. */
  readonly namespace: string;
  readonly transcript: Exchange[] = [];
  readonly #normaliser = new Normaliser();
  readonly #streams: WireStream[] = [];

  constructor(server: ServerUnderTest, namespace: string) {
    this.server = server;
    this.namespace = namespace;
    this.#normaliser.mask(new URL(server.target.server).host, "<server>");
  }

  async ask(method: string, path: string, body?: unknown, ask: Ask = {}): Promise<Answer> {
    const payload = asPayload(body);
    const type: Record<string, string> = payload === undefined ? {} : { "content-type": "application/json" };
    const headers = { "user-agent": "conformance/1.0", ...type, ...ask.headers };
    const response = await send({ ...this.server.target, ...ask.as }, { method, path, headers, body: payload });
    if (!ask.quiet) this.#record(ask.title ?? `${method} ${path}`, response, ask);
    return response as Answer;
  }

  get(path: string, ask?: Ask): Promise<Answer> {
    return this.ask("GET", path, undefined, ask);
  }

  post(path: string, body: unknown, ask?: Ask): Promise<Answer> {
    return this.ask("POST", path, body, ask);
  }

  put(path: string, body: unknown, ask?: Ask): Promise<Answer> {
    return this.ask("PUT", path, body, ask);
  }

  delete(path: string, body?: unknown, ask?: Ask): Promise<Answer> {
    return this.ask("DELETE", path, body, ask);
  }

  /** A patch of one type, its type and manager in front of the body. */
  patch(path: string, type: PatchType, body: unknown, ask: Ask = {}): Promise<Answer> {
    const headers = { "content-type": patchTypes[type], ...ask.headers };
    return this.ask("PATCH", path, body, { title: `PATCH (${type}) ${path}`, ...ask, headers });
  }

  /** Opens a watch; what {@link Watch.next} reads goes into the transcript. */
  async watch(path: string, ask: Ask = {}): Promise<Watch> {
    const title = ask.title ?? path;
    const headers = { "user-agent": "conformance/1.0", ...ask.headers };
    const stream = await openStream({ ...this.server.target, ...ask.as }, { method: "GET", path, headers });
    this.#streams.push(stream);
    this.note(`WATCH ${title}`, { code: stream.code, contentType: stream.headers["content-type"] });
    const isHidden = path.includes("allowWatchBookmarks=true") && !ask.everyBookmark ? isPassing : () => false;
    const peek = async (withinMs?: number): Promise<Loose> => {
      for (;;) {
        const event = (await stream.next(withinMs)) as Loose;
        if (event === undefined || !isHidden(event)) return event;
      }
    };
    const next = async (withinMs?: number): Promise<Loose> => {
      const event = await peek(withinMs);
      this.note(`event of ${title}`, event ?? "end");
      return event;
    };
    return { next, peek, close: () => stream.close() };
  }

  /** Puts something the case found out into the transcript. */
  note(asked: string, answer: unknown): void {
    this.transcript.push({
      asked: String(this.#normaliser.value(asked)),
      answer: this.#normaliser.value(answer),
    });
  }

  /** Masks a text that two correct servers may choose differently. */
  mask(text: string, label: string): void {
    this.#normaliser.mask(text, label);
  }

  /** Asks again until the answer is as wanted. Not part of the transcript. */
  async until(path: string, wanted: (answer: Answer) => boolean, ask: Ask = {}): Promise<Loose> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const answer = await this.get(path, { ...ask, quiet: true });
      if (wanted(answer)) return answer.body;
      if (Date.now() > deadline) {
        throw new Error(`${path} did not come to the wanted state; at last: ${answer.text.slice(0, 2000)}`);
      }
      await delay(25);
    }
  }

  /** Runs kubectl in the session's namespace and records what it printed and how it left. */
  async kubectl(
    args: readonly string[],
    { quiet, ...options }: KubectlOptions & { readonly quiet?: boolean } = {},
  ): Promise<CommandResult> {
    const result = await runKubectl(this.server, this.namespace, args, options);
    if (!quiet) this.note(`kubectl ${args.join(" ")}`, result);
    return result;
  }

  /** Runs a program that prints JSON and records what it printed and how it left. */
  async program(title: string, command: CommandLine): Promise<void> {
    const { exitCode, stdout, stderr } = await runCommand(command);
    this.note(title, { exitCode, printed: asJson(stdout), ...(exitCode === 0 ? {} : { stderr }) });
  }

  close(): void {
    for (const stream of this.#streams) stream.close();
  }

  #record(asked: string, { code, headers, body }: WireResponse, ask: Ask): void {
    const names = ["warning", ...(ask.compareHeaders ?? [])];
    const compared = Object.fromEntries(
      names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
    );
    const shown = ask.part ? ask.part(body) : body;
    this.note(asked, { code, contentType: headers["content-type"], ...compared, body: shown });
  }
}

/** A bookmark that comes when the server likes: any moment, or never. */
function isPassing(event: Loose): boolean {
  return event.type === "BOOKMARK" && !JSON.stringify(event.object).includes("k8s.io/initial-events-end");
}

/** A watch of a {@link Session}. */
export interface Watch {
  /** The next event, recorded; undefined at the end. */
  next(withinMs?: number): Promise<Loose>;
  /** The next event, not recorded. */
  peek(withinMs?: number): Promise<Loose>;
  close(): void;
}

function asPayload(body: unknown): string | Uint8Array | undefined {
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) return body;
  return printJson(body as Parameters<typeof printJson>[0]);
}
