// SPDX-License-Identifier: Apache-2.0
import type { FieldError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Endpoint } from "../rest/object-strategy.ts";

/** What is particular about one built-in kind, beyond what its type and the table of resources say. */
export interface KindRules {
  /** Changes to a body right after it was read: fields that stand for others. `sent` is the body as it came. */
  readonly decode?: (object: JsonObject, sent: JsonObject) => JsonObject;
  readonly prepareCreate?: (object: JsonObject) => JsonObject;
  readonly prepareUpdate?: (object: JsonObject, old: JsonObject, endpoint: Endpoint) => JsonObject;
  /** What is wrong with an object, new or changed. */
  readonly validate?: (object: JsonObject) => readonly FieldError[];
  /** What is wrong with a new object, beyond what is wrong with it in any case. */
  readonly validateNew?: (object: JsonObject) => readonly FieldError[];
  /** What is wrong with a change, beyond what is wrong with the object. */
  readonly validateChange?: (object: JsonObject, old: JsonObject, endpoint: Endpoint) => readonly FieldError[];
  /** What whoever writes such an object is told. */
  readonly warnings?: (object: JsonObject, old: JsonObject | undefined) => readonly string[];
  readonly requireDeletable?: (object: JsonObject) => void;
  readonly markDeleted?: (object: JsonObject) => JsonObject;
  readonly blocksDeletion?: (object: JsonObject) => boolean;
  /** Fields that can be selected by, beyond name and namespace. */
  readonly fields?: Readonly<Record<string, (object: JsonObject) => string>>;
  /** Why a field cannot be selected by, where the kind has its own words for it. */
  readonly fieldProblem?: (field: string) => string | undefined;
  /** The kind as another group shows it. */
  readonly toServed?: (stored: JsonObject) => JsonObject;
  readonly toStored?: (served: JsonObject) => JsonObject;
}
