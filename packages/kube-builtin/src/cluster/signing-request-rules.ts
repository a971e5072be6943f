// SPDX-License-Identifier: Apache-2.0
import { certificatesProblem, signingRequestOrganizations, signingRequestProblem } from "@purlin/certificates";
import { type AdmissionPlugin, type Endpoint, type KindRules, listAt, textFields } from "@purlin/kube-apiserver/kinds";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbidden,
  forbiddenValue,
  invalidValue,
  repeatsIn,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject, utf8Length } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt, withMember } from "@purlin/kube-objects/object";
import { uriProblem } from "../checks/addresses.ts";
import { noNamespaceField } from "../checks/rule-checks.ts";

const decisions = new Set(["Approved", "Denied"]);

/** The status of a request as an approver changes it: the conditions only. */
function withConditions(object: JsonObject, old: JsonObject): JsonObject {
  const conditions = listAt(object, "status", "conditions");
  const { conditions: _before, ...rest } = objectAt(old, ["status"]);
  const status = conditions.length === 0 ? rest : { ...rest, conditions };
  return { ...old, metadata: object["metadata"] ?? {}, status };
}

/** A write to the status keeps the decisions that the old object has, if it has as many. */
function keepsDecisions(object: JsonObject, old: JsonObject): JsonObject {
  const conditions = [...listAt(object, "status", "conditions")];
  for (const type of decisions) {
    const isOfType = (one: JsonObject): boolean => stringAt(one, ["type"]) === type;
    const before = listAt(old, "status", "conditions").filter(isOfType);
    if (conditions.filter(isOfType).length !== before.length) continue;
    const kept = before.values();
    for (const [index, one] of conditions.entries()) if (isOfType(one)) conditions[index] = kept.next().value ?? one;
  }
  return conditions.length === 0 ? object : withMember(object, ["status", "conditions"], conditions);
}

const usages = [
  ...["any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment"],
  ...["decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel"],
  ...["ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime"],
  ...["server auth", "signing", "timestamping"],
];

/** The name of a signer: a domain and a path. */
function signerErrors(name: string, path: string): FieldError[] {
  if (name === "") return [requiredValue(path)];
  const parts = name.split("/");
  const [domain = "", own = ""] = parts;
  const form = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
  if (parts.length !== 2) return [invalidValue(path, name, form)];
  const labels = domain.split(".");
  const wrong = (text: string, list: readonly string[], problems: (one: string) => string[]): FieldError[] => {
    const label = list.find((one) => problems(one).length > 0);
    if (label === undefined) return [];
    return problems(label).map((problem) => invalidValue(path, text, `validating label ${goQuote(label)}: ${problem}`));
  };
  const segments = "should be a domain with at least two segments separated by dots";
  return [
    ...(utf8Length(domain) > maxDomain ? [tooLong(path, maxDomain)] : []),
    ...wrong(domain, labels, dns1123LabelProblems),
    ...(labels.length < 2 ? [invalidValue(path, domain, segments)] : []),
    ...wrong(own, own.split("."), dns1123SubdomainProblems),
    ...(utf8Length(name) > maxSigner ? [tooLong(path, maxSigner)] : []),
  ];
}

const maxDomain = 253;
const maxSigner = 571;
const legacySigner = "kubernetes.io/legacy-unknown";

function requestErrors(spec: JsonObject): FieldError[] {
  const [sent, given, signer] = [
    stringAt(spec, ["request"]),
    textsAt(spec, ["usages"]),
    stringAt(spec, ["signerName"]),
  ];
  const isRepeated = repeatsIn(given);
  const problem = signingRequestProblem(Buffer.from(sent, "base64"), uriProblem);
  const seconds = memberAt(spec, ["expirationSeconds"]);
  const brief = "may not specify a duration less than 600 seconds (10 minutes)";
  const legacy = "the legacy signerName is not allowed via this API version";
  return [
    ...(problem === undefined ? [] : [invalidValue("spec.request", memberAt(spec, ["request"]) ?? null, problem)]),
    ...(given.length === 0 ? [requiredValue("spec.usages")] : []),
    ...firstErrors(given, (one, index) =>
      usages.includes(one) ? [] : [unsupportedValue(`spec.usages[${index}]`, one, usages)],
    ),
    ...firstErrors(given, (one, index) => (isRepeated(index) ? [duplicateValue(`spec.usages[${index}]`, one)] : [])),
    ...(signer === legacySigner
      ? [invalidValue("spec.signerName", signer, legacy)]
      : signerErrors(signer, "spec.signerName")),
    ...(typeof seconds === "number" && seconds < 600 ? [invalidValue("spec.expirationSeconds", seconds, brief)] : []),
  ];
}

const statuses = ["False", "True", "Unknown"];
const onlyTrue = ["Approved", "Denied", "Failed"];

const typesOf = (object: JsonObject): string[] =>
  listAt(object, "status", "conditions").map((one) => stringAt(one, ["type"]));

/** What the old object has already stays allowed. */
function conditionErrors(object: JsonObject, old: JsonObject): FieldError[] {
  const [types, before] = [typesOf(object), typesOf(old)];
  const had = new Set(before);
  const hadBoth = had.has("Approved") && had.has("Denied");
  const hadDuplicates = had.size < before.length;
  const isRepeated = repeatsIn(types);
  const seen = new Set<string>();
  return firstErrors(listAt(object, "status", "conditions"), (one, index) => {
    const [at, type, status] = [`status.conditions[${index}]`, types[index] ?? "", stringAt(one, ["status"])];
    const allowed = onlyTrue.includes(type) ? ["True"] : statuses;
    const other = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    const isBoth = !hadBoth && other !== undefined && seen.has(other);
    seen.add(type);
    return [
      ...(type === "" && !had.has("") ? [requiredValue(`${at}.type`)] : []),
      ...(status === "" ? [requiredValue(`${at}.status`)] : []),
      ...(status === "" || allowed.includes(status) ? [] : [unsupportedValue(`${at}.status`, status, allowed)]),
      ...(isBoth ? [invalidValue("status.conditions", type, exclusive)] : []),
      ...(isRepeated(index) && !hadDuplicates ? [duplicateValue(`${at}.type`, type)] : []),
    ];
  });
}

const exclusive = "Approved and Denied conditions are mutually exclusive";
const certificatePath = "status.certificate";

const bytesOf = (object: JsonObject): Buffer => Buffer.from(stringAt(object, ["status", "certificate"]), "base64");

/** A certificate that an old object has already is not looked at again. */
function certificateErrors(object: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [bytesOf(object), bytesOf(old)];
  const problem = now.length === 0 || now.equals(before) ? undefined : certificatesProblem(now, uriProblem);
  return problem === undefined ? [] : [invalidValue(certificatePath, "<certificate data>", problem)];
}

/** Decisions stay, and only an approver adds them; a certificate stays. */
function changeErrors(object: JsonObject, old: JsonObject, endpoint: Endpoint): FieldError[] {
  const [now, before] = [typesOf(object), typesOf(old)];
  const grown = (type: string): number =>
    now.filter((one) => one === type).length - before.filter((one) => one === type).length;
  const say = (verb: string, type: string): FieldError =>
    forbiddenValue("status.conditions", `updates may not ${verb} a condition of type ${goQuote(type)}`);
  const isReset = bytesOf(old).length > 0 && !bytesOf(object).equals(bytesOf(old));
  return [
    ...onlyTrue.filter((type) => grown(type) < 0).map((type) => say("remove", type)),
    ...(endpoint === "approval" ? [] : [...decisions].filter((type) => grown(type) > 0)).map((type) =>
      say("add", type),
    ),
    ...(isReset ? [forbiddenValue(certificatePath, "updates may not modify existing certificate content")] : []),
  ];
}

/** Conditions with the times of their changes. */
function withTimes(object: JsonObject, old: JsonObject, now: string): JsonObject {
  const keyOf = (one: JsonObject): string => `${stringAt(one, ["type"])} ${stringAt(one, ["status"])}`;
  // The first of several that are alike counts.
  const before = new Map(
    listAt(old, "status", "conditions")
      .map((one) => [keyOf(one), one] as const)
      .toReversed(),
  );
  const timed = listAt(object, "status", "conditions").map((one) => {
    const same = before.get(keyOf(one)) ?? {};
    const since = stringAt(one, ["lastTransitionTime"]) || stringAt(same, ["lastTransitionTime"]) || now;
    return { ...one, lastUpdateTime: stringAt(one, ["lastUpdateTime"]) || now, lastTransitionTime: since };
  });
  return timed.length === 0 ? object : withMember(object, ["status", "conditions"], timed);
}

const clientSigner = "kubernetes.io/kube-apiserver-client";

/** A certificate of the API server never makes its owner an administrator. */
export const subjectRestriction: AdmissionPlugin = {
  name: "CertificateSubjectRestriction",
  handles: ({ operation, type, subresource }) =>
    operation === "CREATE" && type.resource === "certificatesigningrequests" && subresource === "",
  validate: ({ object = {}, type, name }) => {
    if (stringAt(object, ["spec", "signerName"]) !== clientSigner) return;
    const request = Buffer.from(stringAt(object, ["spec", "request"]), "base64");
    if (!signingRequestOrganizations(request).includes("system:masters")) return;
    throw forbidden(type, name, `use of ${clientSigner} signer with system:masters group is not allowed`);
  },
};

/** The rules of CertificateSigningRequests: the server records the requestor, and only the status changes afterwards. */
export function signingRequestRules(now: () => Date): KindRules {
  return {
    fields: textFields("spec.signerName"),
    fieldProblem: noNamespaceField,
    resets: {
      "": [["spec"], ["status"]],
      status: [["spec"], ["status", "conditions"]],
      approval: [["spec"], ["status", "certificate"]],
    },
    validateNew: (object) => requestErrors(objectAt(object, ["spec"])),
    validateChange: (object, old, endpoint) => [
      ...conditionErrors(object, old),
      ...certificateErrors(object, old),
      ...changeErrors(object, old, endpoint),
    ],
    prepareCreate: withRequestor,
    prepareUpdate: (object, old, endpoint) => {
      if (endpoint === "approval") return withConditions(withTimes(object, old, timestamp(now())), old);
      if (endpoint === "status") return withTimes(keepsDecisions(object, old), old, timestamp(now()));
      return { ...object, spec: old["spec"] ?? {} };
    },
  };
}

function withRequestor(object: JsonObject, user: Parameters<NonNullable<KindRules["prepareCreate"]>>[1]): JsonObject {
  const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...spec } = objectAt(object, ["spec"]);
  const requestor = user && {
    username: user.name,
    ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
    ...(user.groups.length > 0 && { groups: [...user.groups] }),
    ...(user.extra && { extra: user.extra as JsonObject }),
  };
  return { ...object, spec: { ...spec, ...requestor } };
}
