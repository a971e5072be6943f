// SPDX-License-Identifier: Apache-2.0
// Takes out of an answer what two correct servers may say differently: identities, versions, times, generated names.

import { causesInOrder } from "./causes-order.ts";
import type { Loose } from "./loose.ts";
import { managedFieldsInOrder } from "./managed-fields-order.ts";
import { withQuotedObjectsInOrder } from "./quoted-objects.ts";
import { type AgeColumns, withoutAges } from "./table-ages.ts";

/** Replaces identities by the order in which they first appear. One for each transcript. */
export class Normaliser {
  readonly #uids = new Map<string, string>();
  readonly #versions = new Map<string, string>();
  /** Literal texts, such as the server's address or a generated name, and what stands for them. */
  readonly #masks = new Map<string, string>();
  readonly #ageColumns: AgeColumns = new Map();

  /** Has a text replaced wherever it appears from now on. */
  mask(text: string, label: string): void {
    this.#masks.set(text, label);
  }

  value(value: Loose, key = ""): unknown {
    if (typeof value === "string") return this.#text(value, key);
    if (Array.isArray(value))
      return (key === "managedFields" ? managedFieldsInOrder(value) : value).map((item) => this.value(item, key));
    if (typeof value !== "object" || value === null) return value;
    this.#noteGeneratedName(value);
    const shown = causesInOrder(withoutAges(withoutSharedVersions(value), this.#ageColumns));
    return Object.fromEntries(
      Object.entries(shown).map(([name, member]) => [this.#inside(name), this.value(member, name)]),
    );
  }

  #noteGeneratedName({ metadata }: Loose): void {
    const { name, generateName } = metadata ?? {};
    const made = typeof name === "string" && typeof generateName === "string" && generateName !== "";
    if (made && name.length > 5) this.mask(name, `${name.slice(0, -5)}<generated>`);
  }

  #text(text: string, key: string): string {
    if (key === "uid") return ordinal(this.#uids, text, "uid");
    if (key === "resourceVersion" && /^[1-9]\d*$/.test(text)) return ordinal(this.#versions, text, "version");
    if (key === "continue" && text !== "") return "<continue>";
    return this.#inside(text);
  }

  /** Masks identities inside messages and paths. */
  #inside(text: string): string {
    let masked = withQuotedObjectsInOrder(text);
    for (const [found, label] of this.#masks) masked = masked.replaceAll(found, label);
    masked = masked.replaceAll(uidPattern, (uid) => ordinal(this.#uids, uid, "uid"));
    for (const [pattern, label] of varyingTexts) masked = masked.replaceAll(pattern, label);
    return masked.replaceAll(timePattern, (time, fraction?: string) => (isRecent(time) ? timeLabel(fraction) : time));
  }
}

const uidPattern = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

const varyingTexts: readonly (readonly [RegExp, string])[] = [
  [/(too (?:large|old) resource version: )\d+/gi, "$1<version>"],
  [/(<version>, current: )\d+/g, "$1<version>"],
  [/(<version> \()\d+\)/g, "$1<version>)"],
  [/(ResourceVersion in (?:the precondition|record) \()\d+\)/g, "$1<version>)"],
  [/(\bresourceVersion\\*"?: ?\\*")[1-9]\d*/g, "$1<version>"],
  [/([?&]resourceVersion=)[1-9]\d*/g, "$1<version>"],
  [/([?&]continue=)[^&]+/g, "$1<continue>"],
  [/([?&]hash=)[0-9A-F]+/g, "$1<hash>"],
  // What CEL calls the type of a schema node in its messages.
  [/\b(selfType)\d+/g, "$1<n>"],
  // The embedded server has no protobuf responses, so its errors do not list that media type.
  [
    /(?<=(?:Available representations|media types are accepted): .*), application\/vnd\.kubernetes\.protobuf(?:;stream=watch)?/gs,
    "",
  ],
];

const timePattern = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z/g;

/** Times the server took from its clock; a time that a case sent must come back as it was. */
function isRecent(time: string): boolean {
  return Math.abs(Date.parse(time) - Date.now()) < 24 * 3600 * 1000;
}

function timeLabel(fraction: string | undefined): string {
  return fraction === undefined ? "<time>" : "<micro-time>";
}

function ordinal(known: Map<string, string>, text: string, kind: string): string {
  const label = known.get(text) ?? `<${kind} ${known.size + 1}>`;
  known.set(text, label);
  return label;
}

/** The version of a list or a bookmark counts the writes of all other cases too, so it is not compared. */
function withoutSharedVersions(value: Loose): Loose {
  const isCollection = Array.isArray(value.items) || value.kind === "Table";
  if (isCollection && value.metadata?.resourceVersion) return withVersion(value, "<list version>");
  if (value.type === "BOOKMARK" && value.object?.metadata?.resourceVersion) {
    return { ...value, object: everywhere(value.object, "<bookmark version>") };
  }
  return value;
}

/** A bookmark shown as a table has its version twice. */
function everywhere(object: Loose, resourceVersion: string): Loose {
  const marked = withVersion(object, resourceVersion);
  const row = (one: Loose): Loose => ({ ...one, object: one.object && withVersion(one.object, resourceVersion) });
  return Array.isArray(marked.rows) ? { ...marked, rows: marked.rows.map(row) } : marked;
}

function withVersion(value: Loose, resourceVersion: string): Loose {
  return { ...value, metadata: { ...value.metadata, resourceVersion } };
}
