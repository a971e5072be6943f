// SPDX-License-Identifier: Apache-2.0
import { finish } from "@purlin/base";
import type { KindRules } from "@purlin/kube-apiserver/kinds";
import type { FieldError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";

/** What the rules of a kind find wrong with an object itself, at once and in parts. */
export function objectErrors(rules: KindRules, object: JsonObject): readonly FieldError[] {
  const ofRest = rules.validatingRest === undefined ? [] : finish(rules.validatingRest(object));
  return [...(rules.validate?.(object) ?? []), ...ofRest];
}
