// SPDX-License-Identifier: Apache-2.0
// The writes at which a control plane dies during a rollout: what each write is called, and how often and when it is fatal.
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, objectsAt, stringAt } from "@purlin/kube-objects/object";

/** A request that changes something. */
export interface Write {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Before the server has the write, or after it took the write and before the control plane knows. */
export type Moment = "before" | "after";

/** How a control plane dies at one write. */
export interface Death {
  readonly moment: Moment;
  readonly name: string;
  /** Whether the write is one of the rollout itself. */
  readonly isRollout: boolean;
}

/** Which writes are fatal. */
export interface DeathWish {
  /** Each write before and after, or each kind of write before and after and each decision of a rollout in turns. */
  readonly scope: "writes" | "kinds";
}

/** No write of one object in one phase is fatal more often than this, whatever it says. */
const mostDeaths = 12;

/** Decides which writes are fatal, and counts deaths. */
export class DeathList {
  readonly #scope: DeathWish["scope"];
  readonly #deaths = new Map<string, number>();
  readonly #byObject = new Map<string, number>();
  #turns = 0;
  #phase = "";
  #story = "";
  #isAtEvents = false;
  #hasEnded = false;

  constructor({ scope }: DeathWish) {
    this.#scope = scope;
  }

  /**
   * Begins with a rollout; nothing is fatal before the first one. A process that dies after a decision does not report it: either each
   * decision is fatal before and after, or before and, in another process, its event is.
   */
  begin(story: string, { isAtEvents = false }: { readonly isAtEvents?: boolean } = {}): void {
    this.#story = story;
    this.#isAtEvents = isAtEvents;
  }

  /** Nothing is fatal from now on, not even a write that is on its way. */
  end(): void {
    this.#story = "";
    this.#hasEnded = true;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Takes a write into account. The result says how to die at it; nothing dies without one. */
  next(write: Write): Death | undefined {
    if (write.method === "GET" || this.#story === "") return undefined;
    const decision = decisionOf(write, this.#story);
    if (decision !== undefined) this.#phase = decision;
    return decision === undefined ? this.#nextOther(write) : this.#nextDecision(decision);
  }

  /** The write failed by itself: nothing died. */
  undo({ name }: Death): void {
    this.#deaths.set(name, this.times(name) - 1);
  }

  /** How often the control plane died at a write. */
  times(name: string): number {
    return this.#deaths.get(name) ?? 0;
  }

  /** Whether all deaths at a decision of a rollout are over, however many buckets it says to have moved. */
  isOver(decision: string): boolean {
    const most = this.#most();
    return [...this.#deaths].some(
      ([name, times]) => times >= most && (name === decision || name.startsWith(`${decision},`)),
    );
  }

  /** All deaths so far, by the name of the write. */
  all(): ReadonlyMap<string, number> {
    return this.#deaths;
  }

  /** How often a decision is fatal. */
  #most(): number {
    return this.#scope === "writes" && !this.#isAtEvents ? 2 : 1;
  }

  #nextDecision(name: string): Death | undefined {
    if (this.times(name) >= this.#most()) return undefined;
    const turn = this.#scope === "writes" ? this.times(name) : this.#turns++;
    return this.#count({ name, moment: momentOf(turn), isRollout: true });
  }

  #nextOther({ method, path, body }: Write): Death | undefined {
    const { kind, object } = resourceOf(path);
    const name =
      this.#scope === "kinds"
        ? `${method} ${kind}`
        : `${this.#scopeOf(kind)}: ${method} ${object} ${digestOf(kind, body)}`;
    const times = this.times(name);
    if (times >= 2) return undefined;
    const group = `${this.#phase} ${method} ${object}`;
    const before = this.#byObject.get(group) ?? 0;
    if (before >= mostDeaths) return undefined;
    this.#byObject.set(group, before + 1);
    // A process that was killed at the event of a decision does not leave it to the next one.
    const isOnce = name.includes("of FunctionRollout");
    return this.#count({ name, moment: momentOf(isOnce ? this.#turns++ : times), isRollout: false });
  }

  #count(death: Death): Death {
    this.#deaths.set(death.name, this.times(death.name) + 1);
    return death;
  }

  /** What installing a package writes does not depend on what a rollout waits for. */
  #scopeOf(kind: string): string {
    return packageKinds.test(kind) ? "a package" : this.#phase;
  }
}

const momentOf = (turn: number): Moment => (turn % 2 === 0 ? "before" : "after");

const packageKinds = /^(functions|functionrevisions|locks|secrets|services|serviceaccounts|deployments)(\/|$)/;

/** What a write of the controllers of rollouts says; undefined for all other writes. */
function decisionOf({ method, path, body }: Write, story: string): string | undefined {
  if (!isJsonObject(body)) return undefined;
  if (path.endsWith("/functionrollouts")) return "creates the rollout";
  const [, rollout, status] = /\/functionrollouts\/([^/]+)(\/status)?$/.exec(path) ?? [];
  if (rollout !== undefined && status === undefined) return `${rollout}: aborts the rollout`;
  if (rollout !== undefined) return `${rollout}: ${statusText(body)}`;
  const marks = memberAt(body, ["metadata", "annotations"]);
  const isMark = method === "PATCH" && path.includes("/functionrevisions/") && isJsonObject(marks);
  const value = isMark ? marks["pkg.crossplane.io/withheld"] : undefined;
  if (value === undefined) return undefined;
  return value === null ? `${story}: releases a revision` : `${String(value)}: withholds a revision`;
}

function statusText(rollout: JsonObject): string {
  const progressing = objectsAt(rollout, ["status", "conditions"]).find((one) => one["type"] === "Progressing") ?? {};
  const reason = stringAt(progressing, ["reason"]);
  const text = `${stringAt(rollout, ["status", "phase"])} ${numberAt(rollout, ["status", "currentStep"]) + 1} ${reason}`;
  // These come again with each bucket that moves.
  const isRepeated = reason === "StepInProgress" || stringAt(rollout, ["status", "phase"]) === "RollingBack";
  const moved = numberAt(rollout, ["status", "composites", "moved"]);
  return isRepeated && moved > 0 ? `${text}, ${moved} moved` : text;
}

/** The resource of a path, and the object as far as its name says something. */
function resourceOf(path: string): { readonly kind: string; readonly object: string } {
  const [resource = "", name = "", ...rest] = path
    .replace(/^\/apis?\/([^/]+\/)?v[^/]+\//, "")
    .replace(/^namespaces\/[^/]+\/(?=.)/, "")
    .split("/");
  const kind = [resource, ...rest].join("/");
  // Names of events end with a time, those of revisions with a digest.
  const plain = name.replace(/\.[0-9a-f]{16}$/, "").replace(/-[0-9a-f]{7,12}(?=-|$)/, "-*");
  return { kind, object: `${kind} ${plain}` };
}

/** What a write says, without what is different each time. Keys and certificates are always different. */
function digestOf(kind: string, body: unknown): string {
  if (!isJsonObject(body) || kind === "secrets") return "";
  if (kind === "events") return `${stringAt(body, ["reason"])} of ${objectNameOf(objectAt(body, ["involvedObject"]))}`;
  const { metadata, ...said } = body;
  const { labels, annotations, finalizers } = objectAt({ metadata: metadata ?? {} }, ["metadata"]);
  const text = JSON.stringify([said, labels, annotations, finalizers], (key, value: unknown) =>
    /Time$|^time$|At$/.test(key) ? undefined : value,
  );
  const plain = text.replace(/[0-9a-f-]{7,}|[0-9]+/g, "#");
  return createHash("sha256").update(plain).digest("hex").slice(0, 6);
}

function objectNameOf(object: JsonObject): string {
  return resourceOf(`/api/v1/${stringAt(object, ["kind"])}/${stringAt(object, ["name"])}`).object;
}
