// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "../json/json-value.ts";

/** An integer as JSON readers hand it over: those beyond 2^53 may be bigints. */
type JsonInteger = number | bigint;

/** One entry of `x-kubernetes-validations`. */
export type ValidationRule = {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
};

/** An OpenAPI v3 schema as CRDs carry it. It is JSON; keywords that are not listed here may be there as well. */
export type Schema = {
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly not?: Schema;
  readonly required?: readonly string[];
  readonly default?: JsonValue;
  readonly enum?: readonly JsonValue[];
  readonly nullable?: boolean;
  readonly minimum?: JsonInteger;
  readonly maximum?: JsonInteger;
  readonly minLength?: JsonInteger;
  readonly maxLength?: JsonInteger;
  readonly minItems?: JsonInteger;
  readonly maxItems?: JsonInteger;
  readonly minProperties?: JsonInteger;
  readonly maxProperties?: JsonInteger;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
};
