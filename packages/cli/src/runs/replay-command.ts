// SPDX-License-Identifier: Apache-2.0

import { resolve } from "node:path";
import { finish } from "@purlin/base";
import {
  create,
  encodeCanonical,
  type RunFunctionRequest,
  RunFunctionResponse,
  Severity,
  type State,
} from "@purlin/function-protocol";
import { secretData } from "@purlin/function-runner";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  changesBetween,
  createRedactor,
  lastCall,
  type Mark,
  plainMark,
  plainMarks,
  type Run,
  type RunStepMessages,
  readStoreMark,
  responseJson,
  restoreValues,
} from "@purlin/run-store";
import type { Cluster } from "../cluster/cluster-client.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, readTimeout, textOption } from "../options/command-spec.ts";
import { jsonText, readOutput } from "../options/data-output.ts";
import { currentDataDir } from "../project/project-file.ts";
import { textOf, UserError } from "../user-error.ts";
import { openReplayFunction } from "./replay-function.ts";
import { openRuns, type RunsSource } from "./runs-source.ts";
import { changeText, stepsOf } from "./show-command.ts";

/** The result of one step. */
interface Replayed {
  readonly step: string;
  readonly equal: boolean;
  readonly changes: ReturnType<typeof changesBetween>;
  readonly error?: string;
  /** The message of a fatal result. */
  readonly fatal?: string;
}

/** `purlin runs replay RUN`: exit code 0 when all responses are equal to the recorded ones, 3 when one differs, 1 when a call fails. */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const output = readOutput(input, ["text", "json"]);
  const timeoutMs = readTimeout(textOption(input, "timeout") ?? (isSet(input, "inspectBrk") ? "1h" : "30s"));
  await using runs = await openRuns(input, io);
  const found = await runs.get(input.args[0] ?? "");
  const steps = chosen(found, input);
  const results: Replayed[] = [];
  for (const step of steps) results.push(await replay(step, { run: found, input, io, runs, timeoutMs }));
  if (output === "json") {
    io.stdout.write(jsonText({ run: found.id, steps: results }));
  } else for (const result of results) io.stdout.write(`${textOfResult(result).join("\n")}\n`);
  if (results.some(({ error }) => error !== undefined)) return 1;
  return results.every(({ equal }) => equal) ? 0 : 3;
}

/** One function stands for one step: with --with the step must be clear. */
function chosen(run: Run, input: CommandInput): readonly RunStepMessages[] {
  const wanted = textOption(input, "step");
  const steps = stepsOf(run, wanted).filter(({ calls }) => calls.length > 0);
  if (steps.length === 0) throw new UserError(`run ${run.id} called no function: there is nothing to replay`);
  const isOne = textOption(input, "with") !== undefined || isSet(input, "inspectBrk");
  if (!isOne || steps.length === 1) return steps;
  const failed = steps.filter(({ error }) => error !== undefined);
  if (failed.length === 1) return failed;
  const names = steps.map(({ name }) => name).join(", ");
  throw new UserError(`run ${run.id} has several steps: specify one of ${names} with --step`, { exitCode: 2 });
}

interface Replaying {
  readonly run: Run;
  readonly input: CommandInput;
  readonly io: Io;
  readonly runs: RunsSource;
  readonly timeoutMs: number;
}

async function replay(step: RunStepMessages, { run, input, io, runs, timeoutMs }: Replaying): Promise<Replayed> {
  const call = lastCall(step);
  if (call === undefined) throw new UserError(`step "${step.name}" called no function`);
  await using fn = await openReplayFunction(step, { input, io, cluster: runs.cluster });
  if (fn.revision !== undefined && fn.revision !== step.revision) {
    io.stderr.write(`note: the run used revision ${step.revision}; this is ${fn.revision}\n`);
  }
  const { cluster } = runs;
  const restored = isSet(input, "withSecrets") ? await restoreSecrets(run, step, { input, io, cluster }) : undefined;
  const request = restored ?? call.request;
  try {
    const response = await fn.call(request, Date.now() + timeoutMs);
    const empty = create(RunFunctionResponse);
    const pair = [call.response ?? empty, response] as const;
    const [recorded, now] = comparable(request, pair, storeMark(input, io)).map((one) => ({ ...one, meta: undefined }));
    if (recorded === undefined || now === undefined) throw new Error("a response is missing");
    const equal = encodeCanonical(RunFunctionResponse, recorded).equals(encodeCanonical(RunFunctionResponse, now));
    const changes = equal ? [] : changesBetween(responseJson(recorded), responseJson(now));
    const fatal = now.results.find(({ severity }) => severity === Severity.SEVERITY_FATAL)?.message;
    return { step: step.name, equal, changes, ...(fatal !== undefined && { fatal }) };
  } catch (error) {
    return { step: step.name, equal: false, changes: [], error: textOf(error) };
  }
}

function textOfResult({ step, equal, changes, error, fatal }: Replayed): string[] {
  if (error !== undefined) return [`${step}: the call failed: ${harmlessLine(error)}`];
  const stopped = fatal === undefined ? [] : [`  fatal result: ${harmlessLine(fatal)}`];
  if (equal) return [`${step}: the response equals the recorded one`, ...stopped];
  return [
    `${step}: the response differs from the recorded one`,
    ...stopped,
    ...changes.map((one) => `  ${harmlessLine(changeText(one))}`),
  ];
}

interface Reading {
  readonly input: CommandInput;
  readonly io: Io;
  readonly cluster: Cluster | undefined;
}

/** A Secret that a run names. */
interface SecretRef {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The recorded request of a step with the values of the Secrets that it names. A value that has changed since the run has another
 * mark, and is not restored.
 */
export async function restoreSecrets(
  run: Run,
  step: RunStepMessages,
  { input, io, cluster }: Reading,
): Promise<RunFunctionRequest | undefined> {
  if (cluster === undefined) throw new UserError("--with-secrets needs a control plane", { exitCode: 2 });
  const mark = storeMark(input, io);
  if (mark === undefined) {
    const folder = storeFolder(input, io);
    throw new UserError(`--with-secrets: the key of the recorder is not in ${folder}: specify --data-dir`);
  }
  const values = new Map<string, Uint8Array>();
  for (const { namespace, name } of secretsOf(run, step)) {
    const options = { signal: io.signal };
    const secret = await ignoreNotFound(
      cluster.client.get({ apiVersion: "v1", kind: "Secret" }, { namespace, name }, options),
    );
    if (secret === undefined) continue;
    for (const value of secretData(secret).values()) values.set(mark(value), value);
  }
  const request = step.calls.at(-1)?.request;
  return request && restoreValues(request, values);
}

/** The marks of the store that runs are read from; undefined when its key is elsewhere. */
export function storeMark(input: CommandInput, io: Io): Mark | undefined {
  try {
    return readStoreMark(storeFolder(input, io));
  } catch {
    return undefined;
  }
}

function storeFolder(input: CommandInput, io: Io): string {
  return resolve(io.cwd, textOption(input, "recorderDir") ?? currentDataDir(input, io));
}

/** A recorded response and that of a replay, with the same marks for the same secret values. */
export function comparable(
  request: RunFunctionRequest,
  [recorded, now]: readonly [RunFunctionResponse, RunFunctionResponse],
  mark: Mark | undefined,
): readonly [RunFunctionResponse, RunFunctionResponse] {
  const redactor = createRedactor({ mark: mark ?? plainMark })();
  finish(redactor.request(request));
  const hidden = finish(redactor.scrubResponse(finish(redactor.response(now))));
  // Without the key, a secret value that changed cannot be distinguished from one that did not.
  return mark === undefined ? [plainMarks(recorded), plainMarks(hidden)] : [recorded, hidden];
}

/** The Secrets of the step's credentials, those among the objects of its request, and those with connection details. */
function secretsOf(run: Run, step: RunStepMessages): readonly SecretRef[] {
  const request = step.calls.at(-1)?.request;
  const objects = [
    ...objectsIn(request?.observed),
    ...objectsIn(request?.desired),
    ...[...(request?.requiredResources.values() ?? []), ...(request?.extraResources.values() ?? [])].flatMap(
      ({ items }) => items.map(({ resource }): JsonObject => resource?.value ?? {}),
    ),
  ];
  const refs = [...credentialRefs(run.revision ?? {}, step.name), ...objects.flatMap(secretRefsIn)];
  const byKey = new Map(refs.map((ref) => [`${ref.namespace}/${ref.name}`, ref]));
  return [...byKey.values()];
}

function objectsIn(state: State | undefined): readonly JsonObject[] {
  const resources = [state?.composite, ...(state?.resources.values() ?? [])];
  return resources.map((one): JsonObject => one?.resource?.value ?? {});
}

function credentialRefs(revision: JsonObject, step: string): readonly SecretRef[] {
  const { pipeline } = objectOf(revision["spec"]);
  const steps = Array.isArray(pipeline) ? pipeline.map(objectOf) : [];
  const credentials = steps.find((one) => one["step"] === step)?.["credentials"];
  return Array.isArray(credentials) ? credentials.flatMap((one) => refOf(objectOf(one)["secretRef"])) : [];
}

function secretRefsIn(object: JsonObject): readonly SecretRef[] {
  const { namespace, name } = objectOf(object["metadata"]);
  const isSecret = object["kind"] === "Secret" && object["apiVersion"] === "v1";
  const connection = objectOf(objectOf(object["spec"])["writeConnectionSecretToRef"]);
  return [
    ...(isSecret ? refOf({ namespace: namespace ?? "", name: name ?? "" }) : []),
    ...refOf({ namespace: namespace ?? "", ...connection }),
  ];
}

function refOf(value: JsonValue | undefined): readonly SecretRef[] {
  const { namespace, name } = objectOf(value);
  return typeof namespace === "string" && typeof name === "string" && name !== "" ? [{ namespace, name }] : [];
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value ?? null) ? (value as JsonObject) : {};
}
