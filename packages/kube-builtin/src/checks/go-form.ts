// SPDX-License-Identifier: Apache-2.0
// How the reference prints values of its own types in errors: members in the order of the type, absent ones included.
import { inMetaOrder, selectorInGo } from "@purlin/kube-apiserver/kinds";
import { goJson, isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { memberAt, objectAt } from "@purlin/kube-objects/object";
import { goTypes } from "./go-types.ts";
import { unifiedDiff } from "./unified-diff.ts";

/** Prints a member; undefined where the object does not have it. */
type Print = (value: JsonValue | undefined) => string;

interface Member {
  readonly shown: string;
  readonly name: string;
  readonly kind: string;
  readonly type: string;
}

const memberPattern = /^(?<shown>\w+?)(?:=(?<given>\w+))?(?<kind>[#!*>]|\{\}|\[\])?(?::(?<type>\w+))?$/;

function memberOf(text: string): Member {
  const { shown = "", given, kind = "", type = "" } = memberPattern.exec(text)?.groups ?? {};
  return { shown, name: given ?? lowerCase(shown), kind, type };
}

/** `FSType` is `fsType`, `NFS` is `nfs`. */
const lowerCase = (name: string): string =>
  name.replace(/^(?:[A-Z]+$|[A-Z]+(?=[A-Z])|[A-Z])/, (start) => start.toLowerCase());

const known = new Map<string, readonly Member[]>();

function membersOf(type: string): readonly Member[] {
  const parsed = known.get(type) ?? (goTypes[type] ?? "").split(" ").map(memberOf);
  known.set(type, parsed);
  return parsed;
}

/** The metadata of a template, whose members come before those of the template itself. */
function printMeta(object: JsonObject): string[] {
  const printed = printJson(inMetaOrder(objectAt(object, ["metadata"])), { htmlSafe: true });
  return printed === "{}" ? [] : [printed.slice(1, -1)];
}

function printMembers(type: string, object: JsonObject): string[] {
  return membersOf(type).flatMap((member) => {
    if (member.shown === "ObjectMeta") return printMeta(object);
    if (member.kind === ">") return printMembers(member.shown, object);
    const value = member.shown === "SecurityContext" && type === "PodSpec" ? hostContext(object) : object[member.name];
    return [`${goJson(member.shown)}:${printMember(member)(value)}`];
  });
}

/** What a Pod shares with its host, which the type of the reference has in the security context. */
function hostContext(spec: JsonObject): JsonValue | undefined {
  const names = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];
  const context = memberAt(spec, ["securityContext"]);
  const shared = names.flatMap((name) => (spec[name] === undefined ? [] : [[name, spec[name]] as const]));
  if (!isJsonObject(context) && shared.length === 0) return undefined;
  return { ...objectAt(spec, ["securityContext"]), ...Object.fromEntries(shared) } as JsonObject;
}

const printOf = (type: string): Print =>
  type === "" ? (value) => goJson(value ?? null) : (value) => goForm(type, value);

function printMember({ kind, type }: Member): Print {
  switch (kind) {
    case "#":
      return (value) => goJson(value ?? 0);
    case "!":
      return (value) => goJson(value ?? false);
    case "*":
      return (value) => (value === undefined || value === null ? "null" : printOf(type)(value));
    case "{}":
      return printOf("");
    case "[]":
      return (value) => (Array.isArray(value) && value.length > 0 ? `[${value.map(printOf(type)).join(",")}]` : "null");
    default:
      return type === "" ? (value) => goJson(value ?? "") : printOf(type);
  }
}

/** A value as the reference prints it. */
export function goForm(type: string, value: JsonValue | undefined): string {
  const object = isJsonObject(value) ? value : {};
  return type === "LabelSelector" ? selectorInGo(object) : `{${printMembers(type, object).join(",")}}`;
}

/** A list of values as the reference prints it. */
export function goForms(type: string, values: readonly JsonValue[]): string {
  return values.length === 0 ? "null" : `[${values.map((value) => goForm(type, value)).join(",")}]`;
}

/** How two values of a type differ, as the reference prints it. */
export function goDifference(type: string, before: JsonValue | undefined, now: JsonValue | undefined): string {
  const [old, new_] = [before, now].map((value) => indented(goForm(type, value))) as [string[], string[]];
  return unifiedDiff(old, new_);
}

function indented(json: string): string[] {
  const text = JSON.stringify(JSON.parse(json), null, 1);
  return text.replaceAll(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`).split("\n");
}
