// SPDX-License-Identifier: Apache-2.0
// The storage of a custom kind whose objects a webhook converts: objects are converted before they are needed, because reads and writes
// cannot wait for a webhook where they need the result.
import { type AwaitingWork, awaited, inTurns, type Work } from "@purlin/base";
import type { FieldManager } from "@purlin/kube-objects/apply";
import { unclassifiedError } from "@purlin/kube-objects/errors";
import { type JsonObject, ownValue, printJson } from "@purlin/kube-objects/json";
import { metaOf, withMeta } from "../objects/object-members.ts";
import type { Endpoint, ObjectStorage, VersionConversion } from "../strategy/object-strategy.ts";
import type { ObjectConverter } from "./conversion-webhook.ts";

/** Converts one object for a field manager. */
type ConvertOwned = (object: JsonObject, apiVersion: string) => JsonObject;

/** What the conversion of a kind depends on. */
interface ConvertedKind {
  readonly converter: ObjectConverter;
  /** The version of the requests. */
  readonly apiVersion: string;
  readonly storedApiVersion: string;
  /** The versions of the kind. */
  readonly apiVersions: ReadonlySet<string>;
  /** An object as it was stored, without what the schema of its version does not have and with its defaults. */
  readonly read: (stored: JsonObject) => Work<JsonObject>;
  /** An object without what the schema of its version does not have. */
  readonly clean: (object: JsonObject) => Work<JsonObject>;
  readonly fieldManager: (endpoint: Endpoint, convert: ConvertOwned) => FieldManager;
}

/** The storage of a kind with a conversion webhook. */
export function convertedStorage(base: ObjectStorage, kind: ConvertedKind): ObjectStorage {
  const served = new WeakMap<JsonObject, JsonObject>();
  const stored = new WeakMap<JsonObject, JsonObject>();
  const conversion = new Conversion(kind, served, stored);
  return {
    ...base,
    toServed: (object) => found(served, object, kind.apiVersion),
    *serving(object) {
      yield* awaited(conversion.serving([object]));
    },
    toStored: (object) =>
      kind.apiVersion === kind.storedApiVersion ? object : found(stored, object, kind.storedApiVersion),
    servesStoredBytes: false,
    conversion,
  };
}

function found(known: WeakMap<JsonObject, JsonObject>, object: JsonObject, apiVersion: string): JsonObject {
  const result = known.get(object);
  if (result === undefined) throw new Error(`an object was not converted to ${apiVersion} before it was needed`);
  return result;
}

const apiVersionOf = (object: JsonObject): string => String(ownValue(object, "apiVersion"));

class Conversion implements VersionConversion {
  readonly #kind: ConvertedKind;
  readonly #served: WeakMap<JsonObject, JsonObject>;
  readonly #stored: WeakMap<JsonObject, JsonObject>;
  readonly #pending = new WeakMap<JsonObject, Promise<void>>();

  constructor(kind: ConvertedKind, served: WeakMap<JsonObject, JsonObject>, stored: WeakMap<JsonObject, JsonObject>) {
    this.#kind = kind;
    this.#served = served;
    this.#stored = stored;
  }

  async servingAll(stored: readonly JsonObject[]): Promise<void> {
    const unknown = stored.filter((object) => !this.#served.has(object));
    const own = unknown.filter((object) => !this.#pending.has(object));
    const others = new Set(unknown.flatMap((object) => this.#pending.get(object) ?? []));
    if (own.length > 0) {
      const converting = this.serving(own).finally(() => {
        for (const object of own) this.#pending.delete(object);
      });
      for (const object of own) this.#pending.set(object, converting);
      others.add(converting);
    }
    await Promise.all(others);
  }

  /** Converts stored objects to this version, also when they were converted before. */
  async serving(stored: readonly JsonObject[]): Promise<void> {
    const { apiVersion, read } = this.#kind;
    const others: { readonly stored: JsonObject; readonly object: JsonObject }[] = [];
    for (const one of stored) {
      if (!this.#kind.apiVersions.has(apiVersionOf(one))) throw unknownVersion("from", apiVersionOf(one));
      const object = await inTurns(read(one));
      if (apiVersionOf(object) === apiVersion) this.#served.set(one, object);
      else others.push({ stored: one, object });
    }
    const converted = await this.#convertAll(
      others.map(({ object }) => object),
      apiVersion,
    );
    for (const [index, { stored: one }] of others.entries()) this.#served.set(one, converted[index] ?? one);
  }

  async storing(served: JsonObject): Promise<void> {
    const { apiVersion, storedApiVersion } = this.#kind;
    if (apiVersion === storedApiVersion) return;
    const [stored = served] = await this.#convertAll([served], storedApiVersion);
    this.#stored.set(served, stored);
  }

  async stored(object: JsonObject): Promise<JsonObject> {
    await this.storing(object);
    const stored = this.#stored.get(object) ?? object;
    await this.serving([stored]);
    return found(this.#served, stored, this.#kind.apiVersion);
  }

  async convert(object: JsonObject, apiVersion: string): Promise<JsonObject> {
    if (apiVersionOf(object) === apiVersion) return object;
    const [converted = object] = await this.#kind.converter.convert([withoutVersion(object)], apiVersion);
    return withMeta(converted, { resourceVersion: metaOf(object).resourceVersion });
  }

  /** The converted objects without the fields that their schema does not have, and with their resourceVersion, which is not sent. */
  async #convertAll(objects: readonly JsonObject[], apiVersion: string): Promise<JsonObject[]> {
    const { converter, clean } = this.#kind;
    const converted = await converter.convert(objects.map(withoutVersion), apiVersion);
    const cleaned: JsonObject[] = [];
    for (const [index, object] of converted.entries()) {
      const { resourceVersion } = metaOf(objects[index] ?? {});
      cleaned.push(withMeta(await inTurns(clean(object)), { resourceVersion }));
    }
    return cleaned;
  }

  *tracking<T>(endpoint: Endpoint, run: (manager: FieldManager) => Work<T>): AwaitingWork<T> {
    const known = new Map<string, JsonObject | Error>();
    for (;;) {
      const missing: Wanted[] = [];
      const manager = this.#kind.fieldManager(endpoint, (object, apiVersion) =>
        this.#owned({ object, apiVersion }, known, missing),
      );
      const outcome = yield* settled(run(manager));
      if (missing.length === 0) {
        if ("error" in outcome) throw outcome.error;
        return outcome.value;
      }
      for (const wanted of missing) yield* this.#learn(wanted, known);
    }
  }

  #owned(wanted: Wanted, known: ReadonlyMap<string, JsonObject | Error>, missing: Wanted[]): JsonObject {
    if (!this.#kind.apiVersions.has(wanted.apiVersion)) throw unknownVersion("to", wanted.apiVersion);
    const result = known.get(keyOf(wanted));
    if (result instanceof Error) throw result;
    if (result !== undefined) return result;
    missing.push(wanted);
    throw new Error(`an object is being converted to ${wanted.apiVersion}`);
  }

  *#learn(wanted: Wanted, known: Map<string, JsonObject | Error>): AwaitingWork<void> {
    const converting = this.#kind.converter
      .convert([withoutVersion(wanted.object)], wanted.apiVersion)
      .then(([object]) => object ?? wanted.object)
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    known.set(keyOf(wanted), yield* awaited(converting));
  }
}

interface Wanted {
  readonly object: JsonObject;
  readonly apiVersion: string;
}

const keyOf = ({ object, apiVersion }: Wanted): string => `${apiVersion} ${printJson(object)}`;

function* settled<T>(work: Work<T>): Work<{ readonly value: T } | { readonly error: unknown }> {
  try {
    return { value: yield* work };
  } catch (error) {
    return { error };
  }
}

function withoutVersion(object: JsonObject): JsonObject {
  return metaOf(object).resourceVersion === undefined ? object : withMeta(object, { resourceVersion: undefined });
}

function unknownVersion(direction: "from" | "to", apiVersion: string): Error {
  return unclassifiedError(`request to convert CR ${direction} an invalid group/version: ${apiVersion}`);
}
