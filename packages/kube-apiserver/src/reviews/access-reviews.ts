// SPDX-License-Identifier: Apache-2.0

import { inOnePart, inTurns, type Work } from "@purlin/base";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  badRequest,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalid,
  invalidPrinted,
  invalidValue,
  requiredValue,
  tooLong,
} from "@purlin/kube-objects/errors";
import { goJson, goQuotedList, isJsonObject, type JsonObject, printJson } from "@purlin/kube-objects/json";
import { labelKeyProblems, labelValueProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { parseFieldSelector, parseLabelSelector } from "@purlin/kube-objects/selector";
import {
  type AccessAttributes,
  type AccessDecision,
  type Authorizing,
  missingRolesText,
  type PolicyRule,
  type RuleResolver,
  type RuleSet,
} from "../auth/authorizer.ts";
import { apiAudience, authenticated, namedAudiences, type TokenAuthenticator, type User } from "../auth/user.ts";
import { inMetaOrder } from "../objects/object-members.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import { admitUnstored } from "../rest/admitted-write.ts";
import { readBody, readObject } from "../rest/decode-object.ts";
import { negotiateForm, objectResponse } from "../rest/object-response.ts";
import type { SpecialResource } from "../rest/resources.ts";
import type { RestRequest } from "../rest/rest-context.ts";
import { writeOptions } from "../rest/write-options.ts";

/** The reviews of the authorization group, answered by the authorizer that judges requests. */
export function accessReviews(authorizing: Authorizing, rulesFor: RuleResolver): Readonly<Record<string, Review>> {
  const deciding = function* (question: Question, user: User, access: AccessAttributes): Work<JsonObject> {
    const ignored = evaluation(specOf(question));
    yield;
    return withStatus(question, { ...verdict(yield* authorizing(user, access)), ...ignored });
  };
  return {
    selfsubjectaccessreviews: (question) => {
      const spec = specOf(question);
      requireValid([...attributeErrors(spec), ...selectorErrors(spec), ...metadataErrors(question)]);
      return deciding(question, question.user, accessOf(spec));
    },
    subjectaccessreviews: (question) => {
      const spec = specOf(question);
      requireValid([
        ...attributeErrors(spec),
        ...subjectErrors(spec),
        ...selectorErrors(spec),
        ...metadataErrors(question),
      ]);
      return deciding(question, subjectOf(spec), accessOf(spec));
    },
    localsubjectaccessreviews: (question) => {
      const spec = specOf(question);
      const errors = [...metadataErrors(question), ...placeErrors(spec, question.namespace)];
      requireValid([...attributeErrors(spec), ...subjectErrors(spec), ...selectorErrors(spec), ...errors]);
      return deciding(question, subjectOf(spec), accessOf(spec));
    },
    selfsubjectrulesreviews: rulesReview(rulesFor),
  };
}

const specOf = ({ review }: Question): JsonObject => objectAt(review, ["spec"]);

/** Answers of the reference name no kind here. */
function requireValid(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: "authorization.k8s.io", kind: "" }, "", errors);
}

const resourceField = "spec.resourceAttributes";
const pathField = "spec.nonResourceAttributes";

/** Either an object is asked about or a path. */
function attributeErrors(spec: JsonObject): FieldError[] {
  const [resource, path] = [memberAt(spec, ["resourceAttributes"]), memberAt(spec, ["nonResourceAttributes"])];
  if (isJsonObject(resource) && isJsonObject(path)) {
    return [invalidPrinted(pathField, pathText(path), "cannot be specified in combination with resourceAttributes")];
  }
  const problem = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
  return isJsonObject(resource) || isJsonObject(path) ? [] : [invalidPrinted(resourceField, "null", problem)];
}

/** As the reference prints it: with the names of its own type. */
const pathText = (path: JsonObject): string =>
  goJson({ Path: stringAt(path, ["path"]), Verb: stringAt(path, ["verb"]) });

function subjectErrors(spec: JsonObject): FieldError[] {
  const isSomebody = stringAt(spec, ["user"]) !== "" || groupsOf(spec).length > 0;
  return isSomebody ? [] : [invalidValue("spec.user", "", "at least one of user or group must be specified")];
}

const selectors = ["fieldSelector", "labelSelector"] as const;

interface AskedSelector {
  readonly name: (typeof selectors)[number];
  readonly raw: string;
  readonly requirements: readonly JsonObject[];
}

/** The selectors of the request that is asked about. */
function askedSelectors(spec: JsonObject): AskedSelector[] {
  return selectors.flatMap((name) => {
    const selector = memberAt(spec, ["resourceAttributes", name]);
    if (!isJsonObject(selector)) return [];
    return [{ name, raw: stringAt(selector, ["rawSelector"]), requirements: objectsAt(selector, ["requirements"]) }];
  });
}

/** A selector is part of a URL, and this server reads no longer headers. */
const longestSelector = 64 * 1024;

function selectorErrors(spec: JsonObject): FieldError[] {
  return askedSelectors(spec).flatMap(({ name, raw, requirements }) => {
    const path = `${resourceField}.${name}`;
    const missing = `when ${path} is specified, requirements or rawSelector is required`;
    const isGiven = requirements.length > 0;
    return [
      ...(raw !== "" && isGiven
        ? [invalidValue(`${path}.rawSelector`, raw, "may not specified at the same time as requirements")]
        : []),
      ...(Buffer.byteLength(raw) > longestSelector ? [tooLong(`${path}.rawSelector`, longestSelector)] : []),
      ...(raw === "" && !isGiven ? [requiredValue(`${path}.requirements`, missing)] : []),
      ...firstErrors(requirements, (one, index) => requirementErrors(one, name, `${path}.requirements[${index}]`)),
    ];
  });
}

/** Operators that are not known are for newer authorizers. */
function requirementErrors(requirement: JsonObject, name: AskedSelector["name"], path: string): FieldError[] {
  const [key, operator] = [stringAt(requirement, ["key"]), stringAt(requirement, ["operator"])];
  const values = textsAt(requirement, ["values"]);
  const [needsValues, hasNone] = [["In", "NotIn"].includes(operator), ["Exists", "DoesNotExist"].includes(operator)];
  const some = "must be specified when `operator` is 'In' or 'NotIn'";
  const none = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
  const operatorErrors = [
    ...(needsValues && values.length === 0 ? [requiredValue(`${path}.values`, some)] : []),
    ...(hasNone && values.length > 0 ? [forbiddenValue(`${path}.values`, none)] : []),
  ];
  if (name === "fieldSelector") {
    return [...(key === "" ? [requiredValue(`${path}.key`, "must be specified")] : []), ...operatorErrors];
  }
  return [
    ...operatorErrors,
    ...labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem)),
    ...firstErrors(values, (value, index) =>
      labelValueProblems(value).map((problem) => invalidValue(`${path}.values[${index}]`, value, problem)),
    ),
  ];
}

/** Selectors, or parts of them, that an authorizer could not use. */
function evaluation(spec: JsonObject): JsonObject {
  const texts = askedSelectors(spec).flatMap((selector) => {
    const ignored = ignoredPart(selector);
    return ignored === "" ? [] : [`${resourceField}.${selector.name} ${ignored} due to parse error`];
  });
  return texts.length === 0 ? {} : { evaluationError: texts.join("; ") };
}

function ignoredPart({ name, raw, requirements }: AskedSelector): "" | "ignored" | "partially ignored" {
  if (raw !== "") {
    const parse: (text: string) => unknown = name === "labelSelector" ? parseLabelSelector : parseFieldSelector;
    try {
      parse(raw);
      return "";
    } catch {
      return "ignored";
    }
  }
  const used = requirements.filter((one) => {
    const operator = stringAt(one, ["operator"]);
    if (["In", "NotIn"].includes(operator)) return name === "labelSelector" || textsAt(one, ["values"]).length === 1;
    return name === "labelSelector" && ["Exists", "DoesNotExist"].includes(operator);
  });
  if (used.length === requirements.length) return "";
  return used.length === 0 ? "ignored" : "partially ignored";
}

/** A review has no metadata but its namespace; the entries of field managers do not count. */
function metadataErrors({ review, namespace }: Question): FieldError[] {
  const { managedFields, namespace: place, ...metadata } = objectAt(review, ["metadata"]);
  if (Object.keys(metadata).length === 0) return [];
  const shown = {
    ...metadata,
    ...(place !== undefined && { namespace: place }),
    ...(managedFields && { managedFields }),
  };
  const problem = namespace === "" ? "must be empty" : "must be empty except for namespace";
  return [invalidPrinted("metadata", printJson(inMetaOrder(shown), { htmlSafe: true }), problem)];
}

/** A review in a namespace is of what is in it. */
function placeErrors(spec: JsonObject, namespace: string): FieldError[] {
  const [resource, path] = [memberAt(spec, ["resourceAttributes"]), memberAt(spec, ["nonResourceAttributes"])];
  const asked = isJsonObject(resource) ? stringAt(resource, ["namespace"]) : namespace;
  return [
    ...(asked === namespace
      ? []
      : [invalidValue(`${resourceField}.namespace`, asked, "must match metadata.namespace")]),
    ...(isJsonObject(path) ? [invalidPrinted(pathField, pathText(path), "disallowed on this kind of request")] : []),
  ];
}

function groupsOf(spec: JsonObject): string[] {
  const groups = memberAt(spec, ["groups"]);
  return Array.isArray(groups) ? groups.map(String) : [];
}

function verdict({ allowed, reason }: AccessDecision): JsonObject {
  return { allowed, ...(reason === "" ? {} : { reason }) };
}

function accessOf(spec: JsonObject): AccessAttributes {
  const resource = memberAt(spec, ["resourceAttributes"]);
  const path = memberAt(spec, ["nonResourceAttributes"]);
  if (isJsonObject(path)) return { kind: "path", verb: stringAt(path, ["verb"]), path: stringAt(path, ["path"]) };
  const wanted = isJsonObject(resource) ? resource : {};
  const text = (name: string): string => stringAt(wanted, [name]);
  return {
    kind: "resource",
    verb: text("verb"),
    group: text("group"),
    version: text("version"),
    resource: text("resource"),
    subresource: text("subresource"),
    namespace: text("namespace"),
    name: text("name"),
  };
}

function subjectOf(spec: JsonObject): User {
  const uid = stringAt(spec, ["uid"]);
  return { name: stringAt(spec, ["user"]), groups: groupsOf(spec), ...(uid === "" ? {} : { uid }) };
}

/** All rules of the user in a namespace. */
function rulesReview(rulesFor: RuleResolver): Review {
  return function* ({ review, user }) {
    const namespace = stringAt(review, ["spec", "namespace"]);
    if (namespace === "") throw badRequest("no namespace on request");
    const { apiVersion = "", kind = "" } = review;
    // The reference answers with a new object, not with the question.
    return { apiVersion, kind, metadata: {}, spec: {}, status: rulesStatus(yield* rulesFor(user, namespace)) };
  };
}

/** Roles can have more rules than a response has room for. */
const mostRules = 10_000;

function rulesStatus({ rules: byRole, missing }: RuleSet): JsonObject {
  const rules: PolicyRule[] = [];
  for (const ofRole of byRole) rules.push(...ofRole.slice(0, mostRules - rules.length));
  const isComplete = byRole.reduce((sum, { length }) => sum + length, 0) === rules.length;
  const problems = [missingRolesText(missing), isComplete ? "" : `only the first ${mostRules} rules are listed`];
  const error = problems.filter(Boolean).join("; ");
  return {
    resourceRules: rules
      .filter(({ resources }) => resources.length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames.length === 0 ? {} : { resourceNames }),
      })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: !isComplete,
    ...(error === "" ? {} : { evaluationError: error }),
  };
}

/** A review that is asked for. */
interface Question {
  /** As it was sent, with who sent it in its managedFields. */
  readonly review: JsonObject;
  readonly user: User;
  readonly namespace: string;
  readonly now: Date;
}

/** Answers a review. */
type Review = (question: Question) => Work<JsonObject>;

/** The question with its status filled in. */
function withStatus({ review }: Question, status: JsonObject): JsonObject {
  return { ...review, status };
}

/** Resources that are only asked, never stored. */
export function reviewResource(group: string, reviews: Readonly<Record<string, Review>>): SpecialResource {
  return (rest) => {
    const { type, target } = rest;
    const review = type.group === group && target.verb === "create" ? reviews[type.resource] : undefined;
    return review && answer(rest, review);
  };
}

async function answer(rest: RestRequest, review: Review): Promise<CompleteResponse> {
  const { request, target } = rest;
  const form = negotiateForm(request);
  const body = await readBody(rest);
  const options = writeOptions(request, "CreateOptions");
  const read = await inTurns(readObject(rest, body, options.fieldValidation));
  const object = withoutSystemFields(read, rest.type.namespaced);
  const manager = rest.strategy.storage.fieldManager("");
  const { object: managed } = await inTurns(manager.updating(undefined, object, options.manager));
  const admitted = await admitUnstored(rest, managed, options.dryRun);
  const question = { review: admitted, user: request.user, namespace: target.namespace, now: rest.now() };
  return { ...objectResponse(rest, await inTurns(review(question)), form), code: 201 };
}

/** A review without the metadata that only the server sets, and without the namespace of a kind that has none. */
function withoutSystemFields(review: JsonObject, isNamespaced: boolean): JsonObject {
  const { uid: _, creationTimestamp: __, namespace, ...metadata } = objectAt(review, ["metadata"]);
  return { ...review, metadata: isNamespaced && namespace !== undefined ? { ...metadata, namespace } : metadata };
}

/** The reviews of the authentication group. */
export function authenticationReviews(tokens: () => readonly TokenAuthenticator[]): Readonly<Record<string, Review>> {
  return {
    selfsubjectreviews: inOnePart(({ review, user, now }: Question) => ({
      ...review,
      metadata: { creationTimestamp: timestamp(now) },
      status: { userInfo: userInfo(user) },
    })),
    tokenreviews: inOnePart((question: Question) => withStatus(question, tokenStatus(specOf(question), tokens()))),
  };
}

function tokenStatus(spec: JsonObject, authenticators: readonly TokenAuthenticator[]): JsonObject {
  const [token, asked] = [stringAt(spec, ["token"]), textsAt(spec, ["audiences"])];
  if (token === "") throw badRequest("token is required for TokenReview in authentication");
  const named = namedAudiences(token);
  const own = named ?? [apiAudience];
  const user = firstBearer(token, own, authenticators);
  if (user === undefined) return { user: {}, error: invalidToken };
  const target = asked.length === 0 ? [apiAudience] : asked;
  const known = new Set(own);
  const audiences = target.filter((audience) => known.has(audience));
  if (audiences.length > 0) return { authenticated: true, user: userInfo(authenticated(user)), audiences };
  if (named === undefined) return { user: {}, error: invalidToken };
  const problem = `token audiences ${goQuotedList(named)} is invalid for the target audiences ${goQuotedList(target)}`;
  return { user: {}, error: `[${invalidToken}, ${problem}]` };
}

const invalidToken = "invalid bearer token";

function firstBearer(
  token: string,
  audiences: readonly string[],
  authenticators: readonly TokenAuthenticator[],
): User | undefined {
  for (const authenticate of authenticators) {
    const user = authenticate(token, audiences);
    if (user !== undefined) return user;
  }
  return undefined;
}

function userInfo({ name, uid, groups, extra }: User): JsonObject {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups],
    ...(extra === undefined ? {} : { extra: extra }),
  };
}
