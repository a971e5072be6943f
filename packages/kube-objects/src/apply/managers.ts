// SPDX-License-Identifier: Apache-2.0
// metadata.managedFields as data: who owns which fields, and since when.
import { finish, type Work } from "@purlin/base";
import { goJsonString, isGoPrintable } from "../json/go-text.ts";
import {
  compareUtf8,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  utf8Length,
} from "../json/json-value.ts";
import { maxFieldManagerBytes } from "../metadata/validate-metadata.ts";
import type { ManagedFieldsEntry } from "../object/kube-object.ts";
import { emptySet, type FieldSet } from "./field-set.ts";
import { decodingFieldsV1, encodeFieldsV1, encodingFieldsV1 } from "./fields-v1.ts";

/** How a manager came to own fields. */
type ManagerOperation = "Apply" | "Update";

/** The identity of a manager. An applier is the same at all versions; an updater is one per version. */
export interface ManagerIdentity {
  readonly manager: string;
  readonly operation: ManagerOperation;
  /** Empty for appliers. */
  readonly apiVersion: string;
  readonly subresource: string;
}

/** The fields a manager owns, at the version their paths are meant for. */
export interface OwnedFields {
  readonly set: FieldSet;
  readonly apiVersion: string;
  readonly applied: boolean;
}

/** All managers of an object by {@link managerKey}, and when each last changed something. */
export interface Managers {
  readonly owned: ReadonlyMap<string, OwnedFields>;
  readonly identities: ReadonlyMap<string, ManagerIdentity>;
  readonly times: ReadonlyMap<string, string>;
  /** The entries these managers were read from, to be written again as they are where nothing changed. */
  readonly sources: ReadonlyMap<string, ManagerSource>;
}

/** An entry as it was read, and the set it holds. */
interface ManagerSource {
  readonly entry: ManagedFieldsEntry;
  readonly set: FieldSet;
}

/** An object without managers. */
export const noManagers: Managers = {
  owned: new Map(),
  identities: new Map(),
  times: new Map(),
  sources: new Map(),
};

/** The text that identifies a manager. It also orders managers in conflict messages. */
export function managerKey({ manager, operation, apiVersion, subresource }: ManagerIdentity): string {
  const parts = [`"operation":"${operation}"`];
  if (manager !== "") parts.unshift(`"manager":${goJsonString(manager)}`);
  if (apiVersion !== "" && operation === "Update") parts.push(`"apiVersion":${goJsonString(apiVersion)}`);
  if (subresource !== "") parts.push(`"subresource":${goJsonString(subresource)}`);
  return `{${parts.join(",")}}`;
}

/**
 * Reads managedFields. Throws saying what is wrong with the first bad entry. What clients send is written again; entries
 * of a live object were written here and are kept where nothing changes.
 */
export function decodeManagers(entries: readonly ManagedFieldsEntry[], from: "client" | "live"): Managers {
  return finish(decodingManagers(entries, from));
}

/** {@link decodeManagers} in parts. */
export function* decodingManagers(entries: readonly ManagedFieldsEntry[], from: "client" | "live"): Work<Managers> {
  const owned = new Map<string, OwnedFields>();
  const identities = new Map<string, ManagerIdentity>();
  const times = new Map<string, string>();
  const sources = new Map<string, ManagerSource>();
  for (const [index, entry] of entries.entries()) {
    checkEntry(entry, index);
    const identity = identityOfEntry(entry);
    const key = managerKey(identity);
    const set = yield* decodingSet(entry.fieldsV1, index);
    owned.set(key, { set, apiVersion: entry.apiVersion ?? "", applied: identity.operation === "Apply" });
    identities.set(key, identity);
    if (entry.time) times.set(key, entry.time);
    else times.delete(key);
    if (from === "live") sources.set(key, { entry, set });
  }
  return { owned, identities, times, sources };
}

function identityOfEntry(entry: ManagedFieldsEntry): ManagerIdentity {
  const operation: ManagerOperation = entry.operation === "Apply" ? "Apply" : "Update";
  const apiVersion = operation === "Apply" ? "" : (entry.apiVersion ?? "");
  return { manager: entry.manager ?? "", operation, apiVersion, subresource: entry.subresource ?? "" };
}

function checkEntry(entry: ManagedFieldsEntry, index: number): void {
  if (entry.operation !== "Apply" && entry.operation !== "Update") {
    throw new Error("operation must be `Apply` or `Update`");
  }
  if (!entry.apiVersion) throw new Error("apiVersion must not be empty");
  if (!entry.fieldsType) throw new Error(`missing fieldsType in managed fields entry ${index}`);
  if (entry.fieldsType !== "FieldsV1") {
    throw new Error(`invalid fieldsType "${entry.fieldsType}" in managed fields entry ${index}`);
  }
}

function* decodingSet(fields: JsonObject | undefined, index: number): Work<FieldSet> {
  if (fields === undefined || fields === null) return emptySet;
  try {
    return yield* decodingFieldsV1(fields);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`error decoding set of managed fields entry ${index}: ${text}`, { cause: error });
  }
}

/** {@link encodeManagers} in parts. */
export function* encodingManagers(managers: Managers): Work<ManagedFieldsEntry[]> {
  for (const [key, owned] of managers.owned) {
    if (unchangedEntry(managers, key, owned) === undefined) yield* encodingFieldsV1(owned.set);
  }
  return encodeManagers(managers);
}

/** Writes managedFields, in the reference's order: by operation, time, manager, version and subresource. */
export function encodeManagers(managers: Managers): ManagedFieldsEntry[] {
  const entries = [...managers.owned].map(
    ([key, owned]) => unchangedEntry(managers, key, owned) ?? newEntry(managers, key, owned),
  );
  return entries.length < 2 ? entries : entries.sort(compareEntries);
}

function unchangedEntry(
  managers: Managers,
  key: string,
  { set, apiVersion }: OwnedFields,
): ManagedFieldsEntry | undefined {
  const source = managers.sources.get(key);
  if (!source || source.set !== set || source.entry.apiVersion !== apiVersion) return undefined;
  return (source.entry.time ?? undefined) === managers.times.get(key) ? source.entry : undefined;
}

function newEntry(managers: Managers, key: string, { set, apiVersion, applied }: OwnedFields): ManagedFieldsEntry {
  const { manager, operation, subresource } = identityOf(managers, key);
  const time = managers.times.get(key);
  return {
    ...(manager === "" ? {} : { manager }),
    operation: applied ? "Apply" : operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1: encodeFieldsV1(set),
    ...(subresource === "" ? {} : { subresource }),
  };
}

function identityOf(managers: Managers, key: string): ManagerIdentity {
  const identity = managers.identities.get(key);
  if (!identity) throw new Error(`a manager lost its identity: ${key}`);
  return identity;
}

function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    compareUtf8(a.operation ?? "", b.operation ?? "") ||
    unixSeconds(a.time) - unixSeconds(b.time) ||
    compareUtf8(a.manager ?? "", b.manager ?? "") ||
    compareUtf8(a.apiVersion ?? "", b.apiVersion ?? "") ||
    compareUtf8(a.subresource ?? "", b.subresource ?? "")
  );
}

/** The second a time lies in; 0 for none. */
export function unixSeconds(time: string | undefined): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1000) || 0;
}

/**
 * The managedFields an object carries, or undefined when it carries none or something that is not a list of entries.
 */
export function managedFieldsOf(object: JsonObject): readonly ManagedFieldsEntry[] | undefined {
  const metadata = ownValue(object, "metadata");
  const list = isJsonObject(metadata) ? ownValue(metadata, "managedFields") : undefined;
  return Array.isArray(list) && list.every(isEntry) ? (list as readonly ManagedFieldsEntry[]) : undefined;
}

const textFields = ["manager", "operation", "apiVersion", "time", "fieldsType", "subresource"] as const;

function isEntry(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  for (const name of textFields) {
    const field = ownValue(value, name);
    if (field !== undefined && field !== null && typeof field !== "string") return false;
  }
  return isTime(ownValue(value, "time")) && isFields(ownValue(value, "fieldsV1"));
}

const isTime = (time: JsonValue | undefined): boolean => typeof time !== "string" || !Number.isNaN(Date.parse(time));
const isFields = (fields: JsonValue | undefined): boolean =>
  fields === undefined || fields === null || isJsonObject(fields);

/** Whether the managedFields of a request mean "remove them all": an empty list, or a list of one empty entry. */
export function isManagedFieldsReset(entries: readonly ManagedFieldsEntry[] | undefined): boolean {
  if (!entries) return false;
  const [only] = entries;
  return entries.length === 0 || (entries.length === 1 && only !== undefined && saysNothing(only));
}

function saysNothing(entry: ManagedFieldsEntry): boolean {
  const { manager, operation, apiVersion, fieldsType, subresource } = entry;
  const texts = [manager, operation, apiVersion, fieldsType, subresource];
  return texts.every((text) => !text) && (entry.time ?? null) === null && (entry.fieldsV1 ?? null) === null;
}

/** A time as metadata carries it: RFC 3339 in UTC, to the second. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/**
 * The name under which a request is recorded: its fieldManager, or what stands before the first `/` of the user agent,
 * without characters that do not print. May be empty, which is recorded as `unknown`.
 */
export function managerName(fieldManager: string | undefined, userAgent: string | undefined): string {
  if (fieldManager) return fieldManager;
  const [program = ""] = (userAgent ?? "").split("/");
  let name = "";
  for (const char of program) {
    if (!isGoPrintable(char)) continue;
    if (utf8Length(name) + utf8Length(char) > maxFieldManagerBytes) break;
    name += char;
  }
  return name;
}
