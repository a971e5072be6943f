// SPDX-License-Identifier: Apache-2.0
import { goQuote, isJsonObject, type JsonObject, type JsonValue, jsonKind } from "@purlin/kube-objects/json";
import { stringAt } from "@purlin/kube-objects/object";
import { refuseMisfits, TypedFormError } from "@purlin/kube-objects/typed";

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

/** Kinds that the reference knows in each group version, besides those of the group. */
const metaKinds: ReadonlySet<string> = new Set(
  "CreateOptions DeleteOptions GetOptions ListOptions PatchOptions UpdateOptions WatchEvent".split(" "),
);
/** Kinds that it knows in the version `v1` without a group. */
const coreKinds: ReadonlySet<string> = new Set("APIGroup APIGroupList APIResourceList APIVersions Status".split(" "));
/** The other kinds of a group. */
const ownKinds: Readonly<Record<string, readonly string[]>> = {
  "apiextensions.k8s.io": ["CustomResourceDefinition", "CustomResourceDefinitionList"],
};

/** The `response` of a review. Returns the text of the reference for a review of another type, or with members of other types. */
export function reviewResponse(received: JsonValue, type: ReviewType): ReadReview | { readonly problem: string } {
  const review = received ?? {};
  const problem = typeProblem(review, type);
  if (problem !== undefined || !isJsonObject(review)) return { problem: problem ?? "" };
  const { group, version, kind: wanted } = type;
  const [statedKind, statedVersion] = [stringAt(review, ["kind"]), stringAt(review, ["apiVersion"])];
  const isTyped = version === "v1beta1" || (statedKind !== "" && statedVersion !== "");
  const untyped = `expected webhook response of ${group}/${version}, Kind=${wanted}, got ${statedVersion || "/"}, Kind=${statedKind}`;
  return { response: review["response"], untyped: isTyped ? undefined : untyped };
}

function typeProblem(review: JsonValue, { group, version, kind: wanted }: ReviewType): string | undefined {
  const parsing = "couldn't get version/kind; json parse error: json: cannot unmarshal";
  if (!isJsonObject(review)) return `${parsing} ${jsonKind(review)} into Go value of type ${typeOfReview}`;
  for (const name of ["kind", "apiVersion"]) {
    const value = review[name] ?? "";
    if (typeof value !== "string") return `${parsing} ${jsonKind(value)} into Go struct field .${name} of type string`;
  }
  const kind = stringAt(review, ["kind"]) || wanted;
  const apiVersion = stringAt(review, ["apiVersion"]) || `${group}/${version}`;
  if (kind === wanted && apiVersion === `${group}/${version}`) {
    return mistyped(review, `${group.split(".")[0]}.${version}.${wanted}`);
  }
  const known = knownType({ group, apiVersion, kind, wanted });
  if (known !== undefined) return `converting (${known}.${kind}) to (${version}.${wanted}): unknown conversion`;
  const registered = `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)}`;
  return `${registered} in scheme "pkg/runtime/scheme.go:111"`;
}

/** The Go package of a kind that the reference knows. */
function knownType(stated: {
  readonly group: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly wanted: string;
}): string | undefined {
  const { group, apiVersion, kind, wanted } = stated;
  if (apiVersion === "v1") return coreKinds.has(kind) ? "v1" : undefined;
  const version = ["v1", "v1beta1"].find((one) => apiVersion === `${group}/${one}`);
  if (version === undefined) return undefined;
  if (metaKinds.has(kind)) return "v1";
  return kind === wanted || ownKinds[group]?.includes(kind) ? version : undefined;
}

function mistyped(review: JsonObject, message: string): string | undefined {
  try {
    refuseMisfits(message, review);
    return undefined;
  } catch (error) {
    if (error instanceof TypedFormError) return error.message;
    throw error;
  }
}
