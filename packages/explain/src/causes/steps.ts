// SPDX-License-Identifier: Apache-2.0
// Why a step of the pipeline fails.
import { type KubeObject, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { argumentOf, crossplaneName, listed, nearest, refOf } from "../inspect/facts.ts";
import { found, type Recognized, rule, type TextContext, type TextRule } from "../inspect/inspection.ts";
import { type Edge, type Finding, recorderOff } from "../model/explanation.ts";

const functionType = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" } as const;
const functionRevisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" } as const;
const packageLabel = "pkg.crossplane.io/package";
const targetAnnotation = "render.crossplane.io/runtime-development-target";

interface Step {
  readonly name: string;
  readonly functionName: string;
  /** `step "render"`. */
  readonly text: string;
  readonly edge: Edge;
}

/** The step and function that a message names. */
function stepIn(text: string): Step {
  const name = /pipeline step "([^"]*)"/.exec(text)?.[1] ?? "";
  const functionName = /Function "([^"]*)"/.exec(text)?.[1] ?? "";
  const step = `step "${name}"`;
  return { name, functionName, text: step, edge: { to: { ...functionType, name: functionName }, via: step } };
}

/** E11, E12: the function is not installed, or none of its revisions is active. */
const noActiveRevision = rule(
  /cannot find an active FunctionRevision|Function "[^"]*" not found; referenced by step|no active FunctionRevision/,
  async (_, context) => {
    const step = stepIn(context.text);
    const { reader } = context.inspection;
    const { functionName: name } = step;
    const functions = await reader.list(functionType);
    if (functions === undefined) return undefined;
    if (functions.some(({ metadata }) => metadata.name === name)) return notActive(context, step);
    return notInstalled(context, step, functions);
  },
);

function notInstalled(context: TextContext, step: Step, functions: readonly KubeObject[]): Finding {
  const names = functions.map(({ metadata }) => metadata.name ?? "").sort();
  const near = nearest(step.functionName, names);
  const hint = near === undefined ? `installed: ${listed(names)}` : `installed: ${near}`;
  return {
    ...found("E11", context, {
      via: step.text,
      sentence: `Step "${step.name}" uses Function ${step.functionName}, which is not installed; ${hint}`,
      next: [
        near === undefined
          ? `purlin xpkg install function PACKAGE ${step.functionName}`
          : `correct functionRef.name of step "${step.name}" to ${near}, or purlin xpkg install function PACKAGE ${step.functionName}`,
      ],
    }),
    object: step.edge.to,
  };
}

async function notActive(context: TextContext, step: Step): Promise<Recognized> {
  const labelSelector = `${packageLabel}=${step.functionName}`;
  const revisions = (await context.inspection.reader.list(functionRevisionType, { labelSelector })) ?? [];
  const active = revisions.find((one) => stringAt(one, ["spec", "desiredState"]) === "Active");
  if (active !== undefined && !context.text.includes("matches")) {
    return { healed: `Function ${step.functionName} has no active revision`, at: active.metadata.creationTimestamp };
  }
  const names = revisions.map(({ metadata }) => metadata.name ?? "").sort();
  const sentence =
    revisions.length === 0
      ? `Function ${step.functionName} has no revision`
      : `Function ${step.functionName} has ${revisions.length} revisions (${listed(names)}), and none that the step can use is active`;
  const last = names.at(-1);
  const next =
    last === undefined
      ? `purlin explain function/${step.functionName}`
      : `purlin patch functionrevision ${last} '{"spec":{"desiredState":"Active"}}'`;
  return {
    ...found("E12", context, { via: step.text, sentence, next: [next], waitsFor: [step.edge] }),
    object: step.edge.to,
  };
}

/** E13: the revision that a step names cannot be used. */
const revisionUnavailable = rule(
  /cannot get FunctionRevision "([^"]+)": not found|FunctionRevision "([^"]+)" (?:does not belong to Function|is not active)|which needs --enable-function-revision-selectors|a development function has no revisions/,
  (match, context) => {
    const step = stepIn(context.text);
    const [text = ""] = match;
    const isOff = text.includes("--enable-function-revision-selectors");
    const revision = match[1] ?? match[2] ?? "";
    const why =
      match[1] === undefined
        ? text.includes("is not active")
          ? "which is inactive"
          : `which belongs to another Function`
        : "which does not exist";
    const sentence =
      isOff || revision === ""
        ? `Step "${step.name}" selects a function revision: ${context.text.slice(match.index)}`
        : `Step "${step.name}" names FunctionRevision ${revision}, ${why}`;
    const next = isOff
      ? "start the control plane with --enable-function-revision-selectors"
      : "name an active revision of the Function in functionRevisionRef";
    return { ...found("E13", context, { via: step.text, sentence, next: [next] }) };
  },
);

/** E14: the function has no endpoint; its revision says why. */
const noEndpoint = rule(/has an empty status\.endpoint/, (_, context) => {
  const step = stepIn(context.text);
  return found("E14", context, {
    via: step.text,
    sentence: `Function ${step.functionName} of step "${step.name}" has no endpoint`,
    next: [`purlin explain function/${step.functionName}`],
    waitsFor: [step.edge],
    effectOnly: true,
  });
});

/** E29: a fatal result, in the words of the function. */
const fatal = rule(
  /pipeline step "([^"]*)" returned a fatal result: ([\s\S]*)$/,
  async ([, step = "", message = ""], context) => {
    const name = await functionOfStep(step, context);
    return found("E29", context, {
      via: `step "${step}"`,
      sentence: `Step "${step}" returned a fatal result: ${message}`,
      next: [
        ...(await recordedCommand("show", context)),
        ...(name === undefined ? [] : [`purlin logs ${name}`]),
        "correct what the message says",
      ],
    });
  },
);

/** The command about the newest recorded run of the object; none without a recorder. */
async function recordedCommand(verb: "show" | "replay", { object, inspection }: TextContext): Promise<string[]> {
  const runs = (await inspection.history?.runsOf(refOf(object), 1)) ?? [];
  return runs.length === 0 ? [] : [`purlin runs ${verb} ${argumentOf(refOf(object))}`];
}

/** The Function of a step: of the CompositionRevision in use, or of an Operation. */
async function functionOfStep(step: string, { object, inspection }: TextContext): Promise<string | undefined> {
  const name = crossplaneName(object, "compositionRevisionRef");
  const type = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" };
  const source = name === undefined ? object : await inspection.reader.find({ ...type, name });
  const steps = source === undefined ? [] : objectsAt(source, ["spec", "pipeline"]);
  const found = steps.find((one) => stringAt(one, ["step"]) === step);
  return found && (stringAt(found, ["functionRef", "name"]) || undefined);
}

/** E30: requirements that change with every call. */
const unstable = rule(/requirements didn't stabilize/, async (_, context) => {
  const step = stepIn(context.text);
  const { history } = context.inspection;
  const [run] = (await history?.runsOf(refOf(context.object), 1)) ?? [];
  const rounds = run?.steps.find((one) => one.step === step.name)?.rounds ?? [];
  const asked =
    rounds.length === 0 ? recorderOff : `it asked for ${rounds.map((round) => round.join(", ")).join(", then ")}`;
  return found("E30", context, {
    via: step.text,
    sentence: `Step "${step.name}" requires other resources on every call: ${asked}`,
    next: [`correct Function ${step.functionName}: it must return the same requirements when they are satisfied`],
  });
});

/** E32: the control plane cannot read what a step requires. */
const requiredUnreadable = rule(/fetching resources for ([^:]+): ([\s\S]*)$/, ([, what = "", why = ""], context) => {
  const step = stepIn(context.text);
  const isForbidden = /forbidden/i.test(why);
  return found("E32", context, {
    via: step.text,
    sentence: `Step "${step.name}" requires ${what}, which the control plane cannot read: ${why}`,
    next: [
      isForbidden
        ? "grant get, list and watch on that kind to the service account of the control plane"
        : "install the CRD of that kind, or correct the function",
    ],
  });
});

/** E34: the Secret of a step's credentials. */
const credentials = rule(
  /pipeline step "([^"]*)" credential "([^"]*)" from Secret(.*)$/s,
  async ([, step = "", name = "", why = ""], context) => {
    const secret = /secrets? "([^"]+)" not found/i.exec(why)?.[1] ?? /"([^"]+\/[^"]+)"/.exec(why)?.[1];
    const which = secret === undefined ? `the Secret of credential "${name}"` : `Secret ${secret}`;
    return found("E34", context, {
      via: `step "${step}"`,
      sentence: `Step "${step}" requires ${which}: ${why.replace(/^[:\s]+/, "")}`,
      next: [`create ${which}, or correct credentials of step "${step}"`],
    });
  },
);

const rpc = /rpc error: code = (\w+) desc = ([\s\S]*)$/;
const tlsText = /certificate|x509|TLS handshake|\bTLS file\b|self[- ]signed|unable to verify|does it expect TLS/i;

/** E23 to E28: a call that failed, by its gRPC status. */
const failedCall: TextRule = (context) => {
  const [, status = "", desc = ""] = rpc.exec(context.text) ?? [];
  const isTls = /cannot get gRPC client connection/.test(context.text) && tlsText.test(context.text);
  if (status === "" && !isTls) return undefined;
  const call: Call = { step: stepIn(context.text), status, desc: desc || context.text, context };
  // A function that cannot be reached until the deadline has the status of the deadline.
  const isUnreachable = status === "Unavailable" || /function unreachable/.test(desc);
  if (isTls || (isUnreachable && tlsText.test(desc))) return tls(call);
  if (isUnreachable) return unreachable(call);
  if (status === "DeadlineExceeded" || /the run was cancelled/.test(desc)) return deadline(call);
  if (status === "ResourceExhausted") return tooLarge(call);
  if (status === "Unimplemented") return notAFunction(call);
  return functionError(call);
};

interface Call {
  readonly step: Step;
  readonly status: string;
  readonly desc: string;
  readonly context: TextContext;
}

/** What a TLS error says about the certificates, the most specific text first. Both Node's and Go's texts. */
const tlsProblems: readonly (readonly [RegExp, string])[] = [
  [/accept the runner's certificate/, "does not accept the certificate of the control plane"],
  [/expect TLS/, "expects TLS, and is called without it"],
  [/expired on (.*? GMT)/, "has a certificate that expired on $1"],
  [/is after (\S+)/, "has a certificate that expired on $1"],
  [/expired/, "has a certificate that expired"],
  [/not valid before|not yet valid/, "has a certificate that is not valid yet"],
  [
    /altnames|is valid for|is for .*, not for|cannot validate certificate for|common name/i,
    "has a certificate for another name",
  ],
  [/unknown authority|authorit|unable to (?:verify|get)|self[- ]signed/, "has a certificate of another CA"],
];

function tlsProblem(desc: string): string {
  for (const [pattern, text] of tlsProblems) {
    const match = pattern.exec(desc);
    if (match !== null) return text.replace("$1", match[1] ?? "");
  }
  return "cannot be called over TLS";
}

async function tls({ step, desc, context }: Call): Promise<Finding> {
  const { reader, systemNamespace } = context.inspection;
  const labelSelector = `${packageLabel}=${step.functionName}`;
  const revisions = (await reader.list(functionRevisionType, { labelSelector })) ?? [];
  const active = revisions.find((one) => stringAt(one, ["spec", "desiredState"]) === "Active");
  const secret = active === undefined ? "" : stringAt(active, ["spec", "tlsServerSecretName"]);
  const command = `kubectl delete secret ${secret} -n ${systemNamespace}`;
  return found("E23", context, {
    via: step.text,
    sentence: `Function ${step.functionName} of step "${step.name}" ${tlsProblem(desc)}: ${desc}`,
    next: [
      secret === ""
        ? `delete the TLS Secret of Function ${step.functionName} in ${systemNamespace}: it is issued again`
        : command,
      ...(secret === "" ? [] : ["the control plane issues the certificate again"]),
    ],
    waitsFor: [step.edge],
  });
}

async function unreachable({ step, desc, context }: Call): Promise<Finding> {
  const target = await developmentTarget(step, context);
  const where = target === undefined ? `Function ${step.functionName}` : `Function ${step.functionName} at ${target}`;
  const next =
    target === undefined
      ? `purlin explain function/${step.functionName}`
      : `start the function: purlin function run FILE --insecure --address ${target}`;
  return found("E24", context, {
    via: step.text,
    sentence: `${where} of step "${step.name}" cannot be reached: ${desc}`,
    next: [next],
    waitsFor: target === undefined ? [step.edge] : [],
  });
}

async function developmentTarget(step: Step, { inspection }: TextContext): Promise<string | undefined> {
  const object = await inspection.reader.find(step.edge.to);
  return object?.metadata.annotations?.[targetAnnotation];
}

async function deadline({ step, desc, context }: Call): Promise<Finding> {
  const { history } = context.inspection;
  const runs = (await history?.runsOf(refOf(context.object), 20)) ?? [];
  const times = runs.flatMap(({ steps }) =>
    steps.filter((one) => one.step === step.name).map(({ durationMs }) => durationMs),
  );
  const usual = times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
  const compared = usual === undefined ? "" : `; usually ${(usual / 1000).toFixed(1)} s`;
  return found("E25", context, {
    via: step.text,
    sentence: `Function ${step.functionName} of step "${step.name}" did not respond in time${compared}: ${desc}`,
    next: [
      `purlin logs ${step.functionName}`,
      ...(runs.length === 0 ? [] : [`purlin runs show ${argumentOf(refOf(context.object))}`]),
    ],
  });
}

function tooLarge({ step, desc, context }: Call): Finding {
  return found("E26", context, {
    via: step.text,
    sentence: `The call of step "${step.name}" is too large: ${desc}`,
    next: [
      /limit \w+=/.test(desc)
        ? "raise the limit that the message names, or correct the function"
        : `start Function ${step.functionName} with a larger --max-recv-message-size`,
    ],
  });
}

function notAFunction({ step, desc, context }: Call): Finding {
  return found("E27", context, {
    via: step.text,
    sentence: `The endpoint of Function ${step.functionName} does not serve composition functions: ${desc}`,
    next: [`check the address and port of Function ${step.functionName}`],
  });
}

async function functionError({ step, status, desc, context }: Call): Promise<Finding> {
  return found("E28", context, {
    via: step.text,
    sentence: `Function ${step.functionName} of step "${step.name}" failed with ${status}: ${desc}`,
    next: [`purlin logs ${step.functionName}`, ...(await recordedCommand("replay", context))],
  });
}

/** E28: a response that the control plane refuses. */
const invalidResponse = rule(
  /cannot use a desired composed resource without a name|cannot unmarshal desired composed resource|the function's answer|in the function's answer/,
  (_, context) => {
    const step = stepIn(context.text);
    const of = step.functionName === "" ? "A function" : `Function ${step.functionName}`;
    return found("E28", context, {
      ...(step.name === "" ? {} : { via: step.text }),
      sentence: `${of} returned an invalid response: ${context.text.replace(/^cannot compose resources: /, "")}`,
      next: ["correct the function"],
    });
  },
);

/** Recognizes why a step failed. */
export const stepRules: readonly TextRule[] = [
  fatal,
  noActiveRevision,
  revisionUnavailable,
  noEndpoint,
  unstable,
  requiredUnreadable,
  credentials,
  failedCall,
  invalidResponse,
];
