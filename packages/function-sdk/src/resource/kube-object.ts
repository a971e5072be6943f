// SPDX-License-Identifier: Apache-2.0
import {
  isJsonObject,
  isStruct,
  type JsonObject,
  type JsonValue,
  type Resource,
  type Struct,
} from "@purlin/function-protocol";
import { findLeniently, isPathObject, PathObject } from "./path-object.ts";
import { isResourceMessage } from "./resource-message.ts";

/** The status of a condition as Kubernetes objects spell it. */
export type ConditionStatus = "True" | "False" | "Unknown";

/** A status condition as found in `status.conditions` of an object. */
export interface ObjectCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
}

/** What a condition can be read from; nothing at all reads as an object without conditions. */
export type Conditioned = object | PathObject | Struct | Resource | undefined;

/**
 * The condition of a type. Status is `Unknown` when the object does not have it, or has something else in its place.
 * Never throws.
 */
export function getCondition(object: Conditioned, type: string): ObjectCondition {
  const found = conditionsOf(jsonOf(object)).find((entry) => entry["type"] === type);
  return found === undefined ? { type, status: "Unknown" } : readCondition(type, found);
}

/** True when the object says `Ready: True`. */
export function isReady(object: Conditioned): boolean {
  return getCondition(object, "Ready").status === "True";
}

/** Replaces conditions of the same type and appends the others. One that says the same is left as it is. */
function mergeConditions(existing: JsonValue | undefined, wanted: readonly ObjectCondition[]): JsonValue[] {
  const merged = Array.isArray(existing) ? [...existing] : [];
  for (const condition of wanted) {
    const index = merged.findIndex((entry) => isJsonObject(entry) && entry["type"] === condition.type);
    const before = merged[index];
    if (before === undefined) merged.push(toJsonCondition(condition));
    else if (!isSame(before as JsonObject, condition)) merged[index] = toJsonCondition(condition);
  }
  return merged;
}

function isSame(entry: JsonObject, { type, status, reason, message }: ObjectCondition): boolean {
  const there = readCondition(type, entry);
  return (
    there.status === status && (there.reason ?? "") === (reason ?? "") && (there.message ?? "") === (message ?? "")
  );
}

function toJsonCondition(condition: ObjectCondition): JsonObject {
  const { type, status, reason, message, lastTransitionTime } = condition;
  const optional = { reason, message, lastTransitionTime };
  const set = Object.entries(optional).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { type, status, ...Object.fromEntries(set) };
}

function conditionsOf(object: unknown): JsonObject[] {
  const status = isJsonObject(object) ? object["status"] : undefined;
  const conditions = isJsonObject(status) ? status["conditions"] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
}

function readCondition(type: string, entry: JsonObject): ObjectCondition {
  const { status, reason, message, lastTransitionTime } = entry;
  return {
    type,
    status: status === "True" || status === "False" ? status : "Unknown",
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof lastTransitionTime === "string" ? { lastTransitionTime } : {}),
  };
}

/** The JSON behind a Struct, a Resource message, a wrapper, or a plain object. */
function jsonOf(source: Conditioned): unknown {
  if (source === undefined || source === null) return undefined;
  if (isStruct(source)) return source.value;
  if (isPathObject(source)) return source.toJSON();
  return isResourceMessage(source) ? source.resource?.value : source;
}

/** A reference to a Secret. */
export interface SecretReference {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/**
 * A Kubernetes object with typed access to its metadata and conditions. What every object has (apiVersion, kind, name)
 * reads as empty when it is missing, the rest as undefined. Assigning undefined removes a field.
 */
export class KubeObject extends PathObject {
  get apiVersion(): string {
    return this.#text("apiVersion") ?? "";
  }
  set apiVersion(value: string | undefined) {
    this.setOrDelete("apiVersion", value);
  }

  get kind(): string {
    return this.#text("kind") ?? "";
  }
  set kind(value: string | undefined) {
    this.setOrDelete("kind", value);
  }

  /** `metadata.name`; empty if unset. */
  get name(): string {
    return this.#text("metadata.name") ?? "";
  }
  set name(value: string | undefined) {
    this.setOrDelete("metadata.name", value);
  }

  get generateName(): string | undefined {
    return this.#text("metadata.generateName");
  }
  set generateName(value: string | undefined) {
    this.setOrDelete("metadata.generateName", value);
  }

  get namespace(): string | undefined {
    return this.#text("metadata.namespace");
  }
  set namespace(value: string | undefined) {
    this.setOrDelete("metadata.namespace", value);
  }

  get uid(): string | undefined {
    return this.#text("metadata.uid");
  }

  /** `metadata.labels`. To add one, use addLabels; to replace all, assign. */
  get labels(): Readonly<Record<string, string>> {
    return this.#strings("metadata.labels");
  }
  set labels(value: Readonly<Record<string, string>> | undefined) {
    this.setOrDelete("metadata.labels", value);
  }

  get annotations(): Readonly<Record<string, string>> {
    return this.#strings("metadata.annotations");
  }
  set annotations(value: Readonly<Record<string, string>> | undefined) {
    this.setOrDelete("metadata.annotations", value);
  }

  addLabels(labels: Readonly<Record<string, string>>): void {
    this.labels = { ...this.labels, ...labels };
  }

  addAnnotations(annotations: Readonly<Record<string, string>>): void {
    this.annotations = { ...this.annotations, ...annotations };
  }

  /** The condition of a type; status `Unknown` when the object does not have it. */
  getCondition(type: string): ObjectCondition {
    return getCondition(this.toJSON(), type);
  }

  /** Sets conditions by type, keeping the others. One that says the same as before keeps its time. */
  setConditions(...conditions: readonly ObjectCondition[]): void {
    this.setValue("status.conditions", mergeConditions(this.getValue("status.conditions", undefined), conditions));
  }

  /** `spec.writeConnectionSecretToRef`. */
  get writeConnectionSecretToReference(): SecretReference | undefined {
    return this.getObject("spec.writeConnectionSecretToRef", undefined) as SecretReference | undefined;
  }
  set writeConnectionSecretToReference(value: SecretReference | undefined) {
    this.setOrDelete("spec.writeConnectionSecretToRef", value);
  }

  /** `status.observedGeneration`; undefined if unset. */
  get observedGeneration(): number | undefined {
    const value = this.getValue("status.observedGeneration", undefined);
    return typeof value === "number" ? value : undefined;
  }
  set observedGeneration(value: number | undefined) {
    this.setOrDelete("status.observedGeneration", value);
  }

  /** Sets a field, or removes it when there is no value. */
  protected setOrDelete(path: string, value: JsonValue | object | undefined): void {
    if (value === undefined) this.deleteValue(path);
    else this.setValue(path, value);
  }

  #text(path: string): string | undefined {
    const value = findLeniently(this.toJSON(), path);
    return typeof value === "string" ? value : undefined;
  }

  /** Malformed labels read as empty, so that functions that read them need not handle an exception. */
  #strings(path: string): Record<string, string> {
    const value: JsonValue | undefined = findLeniently(this.toJSON(), path);
    if (!isJsonObject(value)) return {};
    return Object.fromEntries(
      Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  }
}
