// SPDX-License-Identifier: Apache-2.0
import { goQuote, isJsonObject, type JsonObject, type JsonValue, jsonKind } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";

/** The review that a webhook was asked with. */
interface ReviewType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const typeOfReview =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** The `response` of a review. */
interface ReadReview {
  /** Undefined when the review has none. */
  readonly response: JsonValue | undefined;
  /** The text of the reference for a review that does not state its type. It accepts that in v1beta1 only. */
  readonly untyped: string | undefined;
}

/** The `response` of a review. Returns the text of the reference for a review of another type. */
export function reviewResponse(
  review: JsonValue,
  { group, version, kind: wanted }: ReviewType,
): ReadReview | { readonly problem: string } {
  if (!isJsonObject(review)) {
    const unmarshal = `json: cannot unmarshal ${jsonKind(review)} into Go value of type ${typeOfReview}`;
    return { problem: `couldn't get version/kind; json parse error: ${unmarshal}` };
  }
  const kind = stringAt(review, ["kind"]) || wanted;
  const apiVersion = stringAt(review, ["apiVersion"]) || `${group}/${version}`;
  const other = version === "v1" ? "v1beta1" : "v1";
  if (kind === wanted && apiVersion === `${group}/${other}`) {
    return { problem: `converting (${other}.${wanted}) to (${version}.${wanted}): unknown conversion` };
  }
  if (kind !== wanted || apiVersion !== `${group}/${version}`) {
    const registered = `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)}`;
    return { problem: `${registered} in scheme "pkg/runtime/scheme.go:111"` };
  }
  const [statedKind, statedVersion] = [stringAt(review, ["kind"]), stringAt(review, ["apiVersion"])];
  const isTyped = version === "v1beta1" || (statedKind !== "" && statedVersion !== "");
  const untyped = `expected webhook response of ${group}/${version}, Kind=${wanted}, got ${statedVersion || "/"}, Kind=${statedKind}`;
  return { response: (review as JsonObject)["response"], untyped: isTyped ? undefined : untyped };
}
