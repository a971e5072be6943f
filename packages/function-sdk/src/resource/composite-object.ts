// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/function-protocol";
import { KubeObject } from "./kube-object.ts";
import { findLeniently } from "./path-object.ts";

/** A reference to an object by name. */
export interface NameReference {
  readonly name: string;
}

/** A reference to an object of any kind. */
export interface ObjectReference {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
}

/** Selects objects by their labels. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
}

/** Whether a composite follows new composition revisions by itself. */
export type CompositionUpdatePolicy = "Automatic" | "Manual";

const legacyFields = [
  "claimRef",
  "compositionRef",
  "compositionRevisionRef",
  "compositionRevisionSelector",
  "compositionSelector",
  "compositionUpdatePolicy",
  "resourceRefs",
  "writeConnectionSecretToRef",
];

/**
 * A composite resource. Crossplane's own fields are under `spec.crossplane` in modern composites and directly
 * under `spec` in legacy ones; getters find either, setters keep to the style the object has, modern when it has none.
 */
export class CompositeObject extends KubeObject {
  get compositionRef(): NameReference | undefined {
    return this.#object("compositionRef") as NameReference | undefined;
  }
  set compositionRef(value: NameReference | undefined) {
    this.#set("compositionRef", value);
  }

  get compositionSelector(): LabelSelector | undefined {
    return this.#object("compositionSelector");
  }
  set compositionSelector(value: LabelSelector | undefined) {
    this.#set("compositionSelector", value);
  }

  get compositionRevisionRef(): NameReference | undefined {
    return this.#object("compositionRevisionRef") as NameReference | undefined;
  }
  set compositionRevisionRef(value: NameReference | undefined) {
    this.#set("compositionRevisionRef", value);
  }

  get compositionRevisionSelector(): LabelSelector | undefined {
    return this.#object("compositionRevisionSelector");
  }
  set compositionRevisionSelector(value: LabelSelector | undefined) {
    this.#set("compositionRevisionSelector", value);
  }

  get compositionUpdatePolicy(): CompositionUpdatePolicy | undefined {
    const value = this.#get("compositionUpdatePolicy");
    return value === "Automatic" || value === "Manual" ? value : undefined;
  }
  set compositionUpdatePolicy(value: CompositionUpdatePolicy | undefined) {
    this.#set("compositionUpdatePolicy", value);
  }

  /** The composed resources; empty by default. */
  get resourceRefs(): readonly ObjectReference[] {
    return this.#list("resourceRefs");
  }
  set resourceRefs(value: readonly ObjectReference[] | undefined) {
    this.#set("resourceRefs", value);
  }

  /** The claim, which only legacy composites have. */
  get claimRef(): ObjectReference | undefined {
    return this.#object("claimRef");
  }
  set claimRef(value: ObjectReference | undefined) {
    this.setOrDelete("spec.claimRef", value);
  }

  /** The environment configs chosen by releases before 2.0. */
  get environmentConfigRefs(): readonly ObjectReference[] {
    return this.#list("environmentConfigRefs");
  }
  set environmentConfigRefs(value: readonly ObjectReference[] | undefined) {
    this.setOrDelete("spec.environmentConfigRefs", value);
  }

  /** When the connection secret was last written, as RFC 3339 text. */
  get connectionDetailsLastPublishedTime(): string | undefined {
    const value = findLeniently(this.toJSON(), "status.connectionDetails.lastPublishedTime");
    return typeof value === "string" ? value : undefined;
  }
  set connectionDetailsLastPublishedTime(value: string | undefined) {
    this.setOrDelete("status.connectionDetails.lastPublishedTime", value);
  }

  #get(field: string): JsonValue | undefined {
    const object = this.toJSON();
    return findLeniently(object, `spec.crossplane.${field}`) ?? findLeniently(object, `spec.${field}`);
  }

  #object(field: string): JsonObject | undefined {
    const value = this.#get(field);
    return isJsonObject(value) ? value : undefined;
  }

  #list(field: string): ObjectReference[] {
    const value = this.#get(field);
    return Array.isArray(value) ? value.filter(isJsonObject) : [];
  }

  #set(field: string, value: JsonValue | object | undefined): void {
    this.setOrDelete(this.#isLegacy() ? `spec.${field}` : `spec.crossplane.${field}`, value);
  }

  #isLegacy(): boolean {
    const spec = findLeniently(this.toJSON(), "spec");
    if (!isJsonObject(spec) || Object.hasOwn(spec, "crossplane")) return false;
    return legacyFields.some((field) => Object.hasOwn(spec, field));
  }
}
