// SPDX-License-Identifier: Apache-2.0

import { resolve } from "node:path";
import type { RunFunctionRequest, RunFunctionResponse, State } from "@purlin/function-protocol";
import { secretData } from "@purlin/function-runner";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  createRedactor,
  type Mark,
  plainMark,
  plainMarks,
  type Run,
  type RunStepMessages,
  readStoreMark,
  restoreValues,
} from "@purlin/run-store";
import type { Cluster } from "../cluster/cluster-client.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { currentDataDir } from "../project/data-dir.ts";
import { UserError } from "../user-error.ts";

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
  redactor.request(request);
  const hidden = redactor.scrubResponse(redactor.response(now));
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
