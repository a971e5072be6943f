// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonValue } from "@purlin/function-protocol";
import { getCondition, mergeConditions, type ObjectCondition } from "./object-condition.ts";
import { findLeniently, PathObject } from "./path-object.ts";

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
