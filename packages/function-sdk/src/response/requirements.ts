// SPDX-License-Identifier: Apache-2.0
import {
  create,
  MatchLabels,
  Requirements,
  ResourceSelector,
  type RunFunctionResponse,
  SchemaSelector,
} from "@purlin/function-protocol";
import { FunctionError } from "../errors/function-error.ts";

/** Which resources are wanted: a kind, perhaps a namespace, and exactly one of the three ways to match. */
export interface ResourceSelection {
  readonly apiVersion: string;
  readonly kind: string;
  /** Only in this namespace. Without it: cluster-scoped by name, all namespaces by labels. */
  readonly namespace?: string | undefined;
  readonly matchName?: string | undefined;
  /** All of these; none matches everything of the kind. */
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  /** Everything of the kind. Control planes before 2.2.1 refuse it. */
  readonly matchAll?: boolean | undefined;
}

/**
 * Asks for the schema of a kind, to be read under the same name on the next call. Ask on every call, also once it is
 * there: what a function stops asking for is taken away again.
 */
// biome-ignore lint/complexity/useMaxParams: a public signature that the function SDKs of other languages have, too.
export function requireSchema(rsp: RunFunctionResponse, name: string, apiVersion: string, kind: string): void {
  checkKind(name, apiVersion, kind);
  requirementsOf(rsp).schemas.set(name, create(SchemaSelector, { apiVersion, kind }));
}

/** Asks for resources, to be read under the same name on the next call. Ask on every call, also once they are there. */
export function requireResources(rsp: RunFunctionResponse, name: string, selection: ResourceSelection): void {
  requirementsOf(rsp).resources.set(name, toSelector(name, selection));
}

/** As {@link requireResources}, in the field releases before 2.0 know. @deprecated Use requireResources. */
export function requireExtraResources(rsp: RunFunctionResponse, name: string, selection: ResourceSelection): void {
  requirementsOf(rsp).extraResources.set(name, toSelector(name, selection));
}

function requirementsOf(rsp: RunFunctionResponse): Requirements {
  rsp.requirements ??= create(Requirements);
  return rsp.requirements;
}

function toSelector(name: string, selection: ResourceSelection): ResourceSelector {
  const { apiVersion, kind, namespace, matchName, matchLabels, matchAll } = selection;
  checkKind(name, apiVersion, kind);
  const given = [matchName !== undefined, matchLabels !== undefined, matchAll === true].filter(Boolean).length;
  if (given !== 1) throw invalid(name, `expected exactly one of matchName, matchLabels and matchAll, not ${given}`);
  if (matchName === "") throw invalid(name, "matchName is empty");
  return create(ResourceSelector, { apiVersion, kind, namespace, match: toMatch(matchName, matchLabels) });
}

function toMatch(
  matchName: string | undefined,
  matchLabels: Readonly<Record<string, string>> | undefined,
): ResourceSelector["match"] {
  if (matchName !== undefined) return { case: "matchName", value: matchName };
  if (matchLabels === undefined) return undefined;
  const labels = new Map(Object.entries(matchLabels));
  return { case: "matchLabels", value: create(MatchLabels, { labels }) };
}

/** An empty one can never be found; better to fail on the author's line than in a control plane far away. */
function checkKind(name: string, apiVersion: string, kind: string): void {
  if (!apiVersion) throw invalid(name, "apiVersion is empty");
  if (!kind) throw invalid(name, "kind is empty");
}

function invalid(name: string, problem: string): FunctionError {
  return new FunctionError("INVALID_SELECTOR", `cannot require ${JSON.stringify(name)}: ${problem}`);
}
