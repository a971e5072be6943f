// SPDX-License-Identifier: Apache-2.0
import { compositionKinds } from "@purlin/composition";
import type { CacheChange, KubeClient, WriteOptions } from "@purlin/kube-client";
import {
  alreadyExists,
  conflict,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  notFound,
  textOf,
} from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import {
  controllerOf,
  deepFreeze,
  type KubeObject,
  keyOf,
  type ObjectKey,
  parseApiVersion,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { identityAt, identityOf, kindIdentity, type LiveReads } from "./live-reads.ts";
import { LocalServer } from "./local-server.ts";
import {
  type Approximation,
  differsOnlyInStatus,
  functionManager,
  isSameObject,
  newEntry,
  type OverlayEntry,
  previewManager,
  previewUid,
  refusalOf,
  type Writer,
} from "./overlay-entry.ts";
import { PlannedQuota } from "./planned-quota.ts";

/** What an overlay is made of. */
interface OverlayOptions {
  readonly live: LiveReads;
  /** Whether a refusal for missing rights counts: only when the preview runs with the rights of the controllers. */
  readonly hasControllerRights?: boolean | undefined;
  /** Called with every change, before the write resolves. */
  readonly onChange: (change: CacheChange) => void;
  /** The current writer. */
  readonly writer: () => Writer;
}

/** A write as either server gets it: as a dry run, with the resourceVersion that stands for the current object there. */
type SendWrite = (client: KubeClient, resourceVersion: string | undefined) => Promise<KubeObject>;

/** What to write. */
interface OverlayWrite {
  readonly target: KubeObject;
  readonly send: SendWrite;
  readonly options: Pick<WriteOptions, "subresource" | "signal" | "fieldManager">;
  /** The resourceVersion that the caller has read; undefined for a write that does not depend on it. */
  readonly resourceVersion?: string | undefined;
  readonly mustExist: boolean;
  readonly mustNotExist: boolean;
}

/** Writes that only the preview makes need no rights. */
const ownManagers: ReadonlySet<string> = new Set([previewManager, functionManager]);
const firstVersion = 9_000_000_000_000_000;
const createdAt = "2024-01-01T00:00:00Z";

/**
 * The state of a control plane after changes that nothing has stored: reads go through to the live server, writes are dry runs there where
 * that is exact, and are merged by the API server's own code in memory where it is not.
 */
export class Overlay {
  readonly live: LiveReads;
  readonly local: LocalServer;
  readonly #options: OverlayOptions;
  readonly #entries = new Map<string, OverlayEntry>();
  /** The same by kind: every list and every look at a definition is about one. */
  readonly #byKind = new Map<string, Map<string, OverlayEntry>>();
  readonly #busy = new Map<string, Promise<unknown>>();
  /** Kinds whose definition the preview has changed. */
  readonly #redefined = new Set<string>();
  /** The first text with which the live server refused a dry run that was then merged here, by the reason. */
  readonly unjudged: Map<Approximation, string> = new Map();
  readonly #quota = new PlannedQuota(this);
  #version = firstVersion;

  constructor(options: OverlayOptions) {
    this.#options = options;
    this.live = options.live;
    this.local = new LocalServer((type) => this.definitionOf(type));
  }

  /** Every object that was written, in the order of the first write. */
  get entries(): ReadonlyMap<string, OverlayEntry> {
    return this.#entries;
  }

  /** The CustomResourceDefinitions that were written and exist. */
  get definitions(): readonly KubeObject[] {
    return this.written(compositionKinds.crd);
  }

  /** The objects of a kind that exist on the live control plane and were removed, as they are there. */
  removed(type: TypeRef): readonly KubeObject[] {
    const entries = this.#byKind.get(kindIdentity(type))?.values() ?? [];
    return [...entries].flatMap(({ before, now }) => (now === undefined && before !== undefined ? before : []));
  }

  /** The objects of a kind that were written and exist. */
  written(type: TypeRef): readonly KubeObject[] {
    const entries = this.#byKind.get(kindIdentity(type))?.values() ?? [];
    return [...entries].flatMap(({ now }) => now ?? []);
  }

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** An object; undefined when it does not exist. */
  async get(type: TypeRef, key: ObjectKey, signal?: AbortSignal): Promise<KubeObject | undefined> {
    const entry = this.#entries.get(identityAt(type, key));
    if (entry !== undefined) return entry.now && inVersion(entry.now, type);
    if (this.#isRedefined(type)) {
      const stored = (await this.live.serves(type, signal)) ? await this.live.get(type, key, signal) : undefined;
      return stored && this.#shown(stored, type);
    }
    return this.live.get(type, key, signal);
  }

  /** The objects of a type. */
  async list(
    type: TypeRef,
    options: {
      readonly namespace?: string | undefined;
      readonly labelSelector?: string | undefined;
      readonly signal?: AbortSignal | undefined;
      readonly accepts: (object: KubeObject) => boolean;
    },
  ): Promise<readonly KubeObject[]> {
    const { namespace, accepts, signal } = options;
    const isRedefined = this.#isRedefined(type);
    const isLive = !isRedefined || (await this.live.serves(type, signal));
    const listed = isLive ? await this.live.list(type, options) : [];
    const untouched = listed.filter((object) => !this.#entries.has(identityOf(object)));
    const shown = isRedefined ? await Promise.all(untouched.map((object) => this.#shown(object, type))) : untouched;
    const own = this.written(type).map((object) => inVersion(object, type));
    const placed = (object: KubeObject): boolean => !namespace || object.metadata.namespace === namespace;
    return [...shown, ...own].filter((object) => placed(object) && accepts(object));
  }

  /** Writes an object. Writes of one object happen one after the other. */
  write(write: OverlayWrite): Promise<KubeObject> {
    const id = identityOf(write.target);
    const turn = (this.#busy.get(id) ?? Promise.resolve()).then(
      () => this.#write(write),
      () => this.#write(write),
    );
    this.#busy.set(id, turn);
    return turn;
  }

  async #write(write: OverlayWrite): Promise<KubeObject> {
    const { target, options, resourceVersion } = write;
    const current = await this.get(target, keyOf(target), options.signal);
    const name = target.metadata.name ?? "";
    if (current === undefined && write.mustExist) throw notFound(await this.resourceOf(target), name);
    if (current !== undefined && write.mustNotExist) throw alreadyExists(await this.resourceOf(target), name);
    if (resourceVersion && current !== undefined && resourceVersion !== current.metadata.resourceVersion)
      throw conflict(
        await this.resourceOf(target),
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
      );
    if (current !== undefined && this.#isForeignDefinition(target)) return current;
    try {
      const { answer, approximation } = await this.#judge(write, current);
      const isCounted = current !== undefined || (await this.#quota.admit(answer, options.signal));
      const stored = await this.store(target, answer, options.subresource === "status");
      if (approximation !== undefined && !options.subresource)
        this.#entries.get(identityOf(target))?.approximate.add(approximation);
      if (!isCounted) this.#entries.get(identityOf(target))?.approximate.add("quota-unread");
      return stored ?? answer;
    } catch (error) {
      await this.#refuse(target, error);
      throw error;
    }
  }

  /**
   * Whether a write would only bring a derived CustomResourceDefinition up to date with this version of its controller. Another control
   * plane may derive it with small differences, which are not the subject of a preview.
   */
  #isForeignDefinition(target: KubeObject): boolean {
    const owner = controllerOf(target);
    if (kindIdentity(target) !== kindIdentity(compositionKinds.crd) || owner === undefined) return false;
    return this.#entries.get(identityAt(compositionKinds.definition, { name: owner.name }))?.isChanged !== true;
  }

  /** The answer of the server that can judge the write. */
  async #judge(
    write: OverlayWrite,
    current: KubeObject | undefined,
  ): Promise<{ readonly answer: KubeObject; readonly approximation?: Approximation }> {
    const { target, send, options } = write;
    // The status of objects is not shown, and no dry run of it is worth a request.
    const why =
      options.subresource === "status" ? "changed-before" : await this.#whyLocal(target, current, options.signal);
    if (why !== undefined) return this.#judgeHere(write, current, why);
    const before = await this.live.get(target, keyOf(target), options.signal);
    try {
      const answer = await send(this.live.client, before?.metadata.resourceVersion);
      return { answer: current === undefined ? answer : withStatusOf(answer, current) };
    } catch (error) {
      if (isForbidden(error) && ownManagers.has(options.fieldManager ?? ""))
        return { answer: (await this.#judgeHere(write, current, "forbidden")).answer };
      if (isForbidden(error) && !this.#options.hasControllerRights && !isQuota(error))
        return this.#judgeRefused(write, current, { why: "forbidden", error });
      if (isWithoutDryRun(error)) return this.#judgeRefused(write, current, { why: "no-dry-run", error });
      throw error;
    }
  }

  #judgeRefused(
    write: OverlayWrite,
    current: KubeObject | undefined,
    { why, error }: { readonly why: Approximation; readonly error: unknown },
  ): Promise<{ readonly answer: KubeObject; readonly approximation: Approximation }> {
    if (!this.unjudged.has(why)) this.unjudged.set(why, textOf(error));
    return this.#judgeHere(write, current, why);
  }

  async #judgeHere(
    { target, send }: OverlayWrite,
    current: KubeObject | undefined,
    why: Approximation,
  ): Promise<{ readonly answer: KubeObject; readonly approximation: Approximation }> {
    if (!(await this.local.serves(target))) {
      throw new Error(
        `cannot preview a change of ${target.kind} (${target.apiVersion}) "${target.metadata.name ?? ""}": its schema is not known here (${why})`,
      );
    }
    return { answer: await this.local.write(target, current, send), approximation: why };
  }

  /** Why the live server cannot judge a write; undefined when it can. */
  async #whyLocal(
    target: KubeObject,
    current: KubeObject | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Approximation | undefined> {
    if (this.#isRedefined(target) || !(await this.live.serves(target, signal))) return "new-kind";
    const { namespace } = target.metadata;
    if (namespace && this.#entries.get(identityAt(namespaceType, { name: namespace }))?.before === undefined) {
      if (this.#entries.has(identityAt(namespaceType, { name: namespace }))) return "new-namespace";
    }
    const entry = this.#entries.get(identityOf(target));
    if (entry === undefined) return undefined;
    const isAsLive =
      current === undefined
        ? entry.before === undefined
        : entry.before !== undefined && differsOnlyInStatus(entry.before, current);
    return isAsLive && !entry.wasRemoved ? undefined : "changed-before";
  }

  async #refuse(target: KubeObject, error: unknown): Promise<void> {
    // A conflict is a race with another writer, which the reconciler retries.
    if (isNotFound(error) || isConflict(error) || isAlreadyExists(error)) return;
    const entry = await this.#entryOf(target);
    entry.refusal = refusalOf(error);
    this.#note(entry);
  }

  /** Keeps an answer as the object. Resolves to undefined when the object is gone with it. */
  async store(target: KubeObject, answer: KubeObject, isStatus = false): Promise<KubeObject | undefined> {
    const entry = await this.#entryOf(target);
    const previous = entry.now;
    const { deletionTimestamp, finalizers } = answer.metadata;
    if (deletionTimestamp && (finalizers ?? []).length === 0) {
      this.remove(target);
      return undefined;
    }
    const made = previous === undefined ? asCreated(answer, identityOf(target)) : answer;
    if (previous !== undefined && isSameObject(previous, made)) {
      this.#forgetUnwritten(target, entry);
      return previous;
    }
    const now = deepFreeze({ ...made, metadata: { ...made.metadata, resourceVersion: String(++this.#version) } });
    entry.now = now;
    entry.isChanged ||= !isStatus;
    entry.refusal = undefined;
    this.#note(entry);
    if (kindIdentity(now) === kindIdentity(compositionKinds.crd)) return this.#define(now, entry, previous);
    this.#options.onChange(changeOf(previous, now));
    return now;
  }

  /** Removes an object. */
  remove(target: KubeObject): void {
    const entry = this.#entries.get(identityOf(target));
    const previous = entry?.now;
    if (entry === undefined || previous === undefined) return;
    this.#version += 1;
    entry.now = undefined;
    entry.isChanged = true;
    entry.wasRemoved = true;
    this.#note(entry);
    this.#options.onChange({ type: "deleted", object: previous });
  }

  /** Makes an entry of an object, to be changed or removed. */
  async touch(target: KubeObject): Promise<OverlayEntry> {
    return this.#entryOf(target);
  }

  /** The resource of a kind as errors of an API server name it: by its plural. */
  async resourceOf(type: TypeRef): Promise<{ readonly group: string; readonly resource: string }> {
    const { group } = parseApiVersion(type.apiVersion);
    const own = this.#ownDefinition(type);
    if (own !== undefined) return { group, resource: textAt(own, ["spec", "names", "plural"]) ?? "" };
    const mapping = await this.live.client.mapper.mapping(type).catch(() => undefined);
    return { group, resource: mapping?.resource ?? type.kind.toLowerCase() };
  }

  #ownDefinition({ apiVersion, kind }: TypeRef): KubeObject | undefined {
    const { group } = parseApiVersion(apiVersion);
    return this.definitions.find(
      (crd) => textAt(crd, ["spec", "group"]) === group && textAt(crd, ["spec", "names", "kind"]) === kind,
    );
  }

  /** The CustomResourceDefinition of a kind; undefined when it has none. */
  async definitionOf(type: TypeRef): Promise<KubeObject | undefined> {
    const { group } = parseApiVersion(type.apiVersion);
    const own = this.#ownDefinition(type);
    if (own !== undefined) return own;
    if (!group.includes(".") || group.endsWith(".k8s.io")) return undefined;
    const mapping = await this.live.client.mapper.mapping(type).catch(() => undefined);
    if (mapping === undefined) return undefined;
    return this.live.get(compositionKinds.crd, { name: `${mapping.resource}.${group}` });
  }

  close(): Promise<void> {
    return this.local.close();
  }

  async #define(crd: KubeObject, entry: OverlayEntry, previous: KubeObject | undefined): Promise<KubeObject> {
    const served = await this.local.define(crd);
    const { group, kind } = {
      group: textAt(crd, ["spec", "group"]) ?? "",
      kind: textAt(crd, ["spec", "names", "kind"]) ?? "",
    };
    const status = served["status"];
    const now = deepFreeze({ ...crd, ...(status !== undefined && { status }) }) as KubeObject;
    entry.now = now;
    if (previous === undefined || !jsonEqual(previous["spec"] ?? null, now["spec"] ?? null))
      this.#redefined.add(`${group}/${kind}`);
    this.#options.onChange(changeOf(previous, now));
    return now;
  }

  async #shown(object: KubeObject, type: TypeRef): Promise<KubeObject> {
    return this.local.shown(inVersion(object, type)).then((shown) => withVersionOf(shown, object));
  }

  #isRedefined(type: TypeRef): boolean {
    return this.#redefined.has(kindIdentity(type));
  }

  async #entryOf(target: KubeObject): Promise<OverlayEntry> {
    const id = identityOf(target);
    const known = this.#entries.get(id);
    if (known !== undefined) return known;
    const isLive = await this.live.serves(target);
    const before = isLive ? await this.live.get(target, keyOf(target)) : undefined;
    const shown = before !== undefined && this.#isRedefined(target) ? await this.#shown(before, target) : before;
    const entry = { ...newEntry(before), now: shown };
    this.#entries.set(id, entry);
    const kind = kindIdentity(target);
    this.#byKind.set(kind, (this.#byKind.get(kind) ?? new Map<string, OverlayEntry>()).set(id, entry));
    return entry;
  }

  #forgetUnwritten(target: KubeObject, entry: OverlayEntry): void {
    if (entry.writers.length > 0) return;
    this.#entries.delete(identityOf(target));
    this.#byKind.get(kindIdentity(target))?.delete(identityOf(target));
  }

  #note(entry: OverlayEntry): void {
    const writer = this.#options.writer();
    if (!entry.writers.some(({ controller, key }) => controller === writer.controller && key === writer.key))
      entry.writers.push(writer);
  }
}

const namespaceType: TypeRef = { apiVersion: "v1", kind: "Namespace" };

function changeOf(previous: KubeObject | undefined, object: KubeObject): CacheChange {
  return previous === undefined ? { type: "added", object } : { type: "updated", object, previous };
}

function asCreated(answer: KubeObject, identity: string): KubeObject {
  const metadata = { ...answer.metadata, uid: previewUid(identity), creationTimestamp: createdAt };
  return { ...answer, metadata };
}

/** A dry run against the live object answers with its status; the status that the preview has is newer. */
function withStatusOf(answer: KubeObject, current: KubeObject): KubeObject {
  const { status: _status, ...rest } = answer as JsonObject;
  const status = current["status"];
  return (status === undefined ? rest : { ...rest, status }) as KubeObject;
}

function withVersionOf(object: KubeObject, { metadata: { resourceVersion } }: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
}

/** An object in another version of its kind. */
export function inVersion(object: KubeObject, { apiVersion }: TypeRef): KubeObject {
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}

function isQuota(error: unknown): boolean {
  return /exceeded quota|admission webhook|denied the request/.test(textOf(error));
}

function isWithoutDryRun(error: unknown): boolean {
  return /does not support dry run/.test(textOf(error));
}
