// SPDX-License-Identifier: Apache-2.0
// Checks the expressions of each ValidatingAdmissionPolicy against the schemas of the kinds that it matches, and writes the findings
// into its status. They are advice: what the policy does is not changed by them.

import { inTurns, type Work } from "@purlin/base";
import { anyObject, type ObjectType, objectTypeOf, typeChecker } from "@purlin/cel";
import { compareUtf8, type JsonObject } from "@purlin/kube-objects/json";
import {
  type GroupVersionKind,
  numberAt,
  objectAt,
  objectsAt,
  optionalObjectAt,
  parseApiVersion,
  stringAt,
  textsAt,
} from "@purlin/kube-objects/object";
import {
  builtinSchema,
  crdToOpenAPI,
  findSchema,
  inlineReferences,
  isOpenAPIError,
  openAPIPathKey,
} from "@purlin/kube-objects/openapi";
import type { Schema } from "@purlin/kube-objects/schema";
import { metaOf } from "../objects/object-members.ts";
import type { Catalog } from "../registry/registry.ts";
import type { Store } from "../store/store.ts";
import { type InternalClient, StoreFollower } from "./controller-kit.ts";

const prefix = "/admissionregistration.k8s.io/validatingadmissionpolicies/";
const path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

/** The ServiceAccount of the controller. */
export const policyStatusController = "validatingadmissionpolicy-status-controller";
const fieldManager = "validatingadmissionpolicy-status";

interface PolicyStatusDeps {
  readonly store: Store<JsonObject>;
  readonly client: InternalClient;
  readonly catalog: () => Catalog;
  readonly crds: () => readonly JsonObject[];
  readonly onError: (error: unknown) => void;
}

/** Checks each generation of a policy once: kinds that are defined later do not change the status, as in the reference. */
export function createPolicyStatus({ store, client, catalog, crds, onError }: PolicyStatusDeps): StoreFollower {
  return new StoreFollower({
    store,
    prefix,
    onError,
    reconcile: async (key) => {
      const policy = store.get(key)?.value;
      if (policy === undefined) return;
      const { name = "", generation = 0 } = metaOf(policy);
      if (generation <= numberAt(policy, ["status", "observedGeneration"])) return;
      const schemaOf = (kind: GroupVersionKind): Schema | undefined => servedSchema(kind, crds());
      const warnings = await inTurns(expressionWarnings(policy, { catalog: catalog(), schemaOf }));
      await client.send("PATCH", `${path}/${encodeURIComponent(name)}/status`, {
        contentType: "application/apply-patch+yaml",
        query: { fieldManager, force: "true" },
        body: {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind: "ValidatingAdmissionPolicy",
          metadata: { name },
          status: {
            observedGeneration: generation,
            typeChecking: warnings.length === 0 ? {} : { expressionWarnings: warnings },
          },
        },
      });
    },
  });
}

/** A kind without a usable schema is left out of the check. */
function servedSchema(kind: GroupVersionKind, crds: readonly JsonObject[]): Schema | undefined {
  try {
    return builtinSchema(kind) ?? customSchema(kind, crds);
  } catch (error) {
    if (isOpenAPIError(error)) return undefined;
    throw error;
  }
}

function customSchema(kind: GroupVersionKind, crds: readonly JsonObject[]): Schema | undefined {
  const crd = crds.find(
    (one) => stringAt(one, ["spec", "group"]) === kind.group && stringAt(one, ["spec", "names", "kind"]) === kind.kind,
  );
  const document = crd && crdToOpenAPI(crd).get(openAPIPathKey(kind));
  const component = document && findSchema(document, kind);
  return document === undefined || component === undefined ? undefined : inlineReferences(document, component);
}

/** What is served while a policy is checked. */
interface ServedSchemas {
  readonly catalog: Catalog;
  /** The schema of a kind without references; undefined when there is none. */
  readonly schemaOf: (kind: GroupVersionKind) => Schema | undefined;
}

/** A finding, as the status of a policy holds it. */
type ExpressionWarning = {
  readonly fieldRef: string;
  readonly warning: string;
};

const maxKinds = 10;

/** A kind whose objects a policy matches, and what is wrong with an expression about them. */
interface KindCheck {
  readonly kind: GroupVersionKind;
  readonly check: (expression: string) => string | undefined;
}

/** The findings about the validations of a policy and their messages, kind by kind. Each check is a part: it can take milliseconds. */
export function* expressionWarnings(policy: JsonObject, served: ServedSchemas): Work<readonly ExpressionWarning[]> {
  const spec = objectAt(policy, ["spec"]);
  const checks = yield* checksOf(spec, served);
  const warnings: ExpressionWarning[] = [];
  for (const [index, validation] of objectsAt(spec, ["validations"]).entries()) {
    for (const member of ["expression", "messageExpression"]) {
      const expression = stringAt(validation, [member]);
      if (expression === "" && member === "messageExpression") continue;
      const problems = yield* problemsOf(expression, checks);
      const fieldRef = `spec.validations[${index}].${member}`;
      if (problems.length > 0) warnings.push({ fieldRef, warning: problems.join("\n") });
    }
  }
  return warnings;
}

function* checksOf(spec: JsonObject, served: ServedSchemas): Work<readonly KindCheck[]> {
  const params = paramsType(spec, served);
  const variables = objectsAt(spec, ["variables"]).map((one) => ({
    name: stringAt(one, ["name"]),
    expression: stringAt(one, ["expression"]),
  }));
  const checks: KindCheck[] = [];
  for (const kind of matchedKinds(spec, served.catalog)) {
    yield;
    const schema = served.schemaOf(kind);
    if (schema === undefined) continue;
    checks.push({ kind, check: typeChecker(objectTypeOf(schema, kind.kind), params, variables) });
  }
  return checks;
}

function* problemsOf(expression: string, checks: readonly KindCheck[]): Work<readonly string[]> {
  const problems: string[] = [];
  for (const { kind, check } of checks) {
    yield;
    const problem = check(expression);
    if (problem !== undefined) problems.push(`${printedKind(kind)}: ${problem}\n`);
  }
  return problems;
}

/** The type of `params`, which can be any value when the kind has no schema. */
function paramsType(spec: JsonObject, { schemaOf }: ServedSchemas): ObjectType | undefined {
  const paramKind = optionalObjectAt(spec, ["paramKind"]);
  if (paramKind === undefined) return undefined;
  const kind = stringAt(paramKind, ["kind"]);
  const schema = schemaOf({ ...parseApiVersion(stringAt(paramKind, ["apiVersion"])), kind });
  return schema === undefined ? anyObject : objectTypeOf(schema, kind);
}

const printedKind = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}, Kind=${kind}`;

/** The kinds that the rules of a policy name, sorted. Rules with wildcards name none; the tenth kind of a rule is the last of all. */
function matchedKinds(spec: JsonObject, catalog: Catalog): GroupVersionKind[] {
  const kinds = new Map<string, GroupVersionKind>();
  for (const rule of objectsAt(spec, ["matchConstraints", "resourceRules"])) {
    const named = kindsOfRule(rule, catalog).slice(0, maxKinds);
    for (const kind of named) kinds.set(printedKind(kind), kind);
    if (named.length === maxKinds) break;
  }
  return [...kinds.values()].sort(
    (a, b) => compareUtf8(a.group, b.group) || compareUtf8(a.version, b.version) || compareUtf8(a.kind, b.kind),
  );
}

function kindsOfRule(rule: JsonObject, catalog: Catalog): GroupVersionKind[] {
  const [groups, versions] = [sortedTexts(rule, "apiGroups"), sortedTexts(rule, "apiVersions")];
  if ([...groups, ...versions].some((text) => text.includes("*"))) return [];
  const resources = sortedTexts(rule, "resources").filter((resource) => !/[*/]/.test(resource));
  return groups.flatMap((group) =>
    versions.flatMap((version) => resources.flatMap((resource) => kindsOf(catalog, { group, version, resource }))),
  );
}

const sortedTexts = (rule: JsonObject, name: string): string[] => textsAt(rule, [name]).toSorted(compareUtf8);

interface NamedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** The kinds of a resource by its plural or singular. As in the reference, a rule for the core group finds the resource in every group. */
function kindsOf(catalog: Catalog, { group, version, resource }: NamedResource): GroupVersionKind[] {
  const name = resource.toLowerCase();
  return catalog.groups
    .filter((one) => group === "" || one.name === group)
    .flatMap(({ versions }) => versions.filter((one) => one.version === version))
    .flatMap(({ resources }) => resources.filter((type) => type.resource === name || type.singular === name))
    .map((type) => ({ group: type.group, version: type.version, kind: type.kind }));
}
