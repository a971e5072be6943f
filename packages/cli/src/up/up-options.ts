// SPDX-License-Identifier: Apache-2.0

import { join, relative } from "node:path";
import type { ControlPlaneSettings } from "@purlin/control-plane";
import type { FunctionLimits } from "@purlin/function-process";
import type { AnswerLimits } from "@purlin/function-runner";
import type { Authorization } from "@purlin/kube-apiserver";
import type { AuditSettings } from "../apiserver/audit-log.ts";
import { readAuthorization, readMaxRequestsInFlight, readPort } from "../apiserver/embedded-server.ts";
import {
  readAdmissionPlugins,
  readAuditSettings,
  readWebhookTargets,
  readWorkloads,
  type WorkloadMode,
} from "../apiserver/server-options.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, listOption, readTimeout, textOption } from "../options/command-spec.ts";
import { limitOption, readFunctionLimits, readLimits } from "../options/function-limits.ts";
import { ownDataDir, readProjectFile } from "../project/project-file.ts";
import {
  dependencyVersions,
  type FunctionFeatures,
  readFeatures,
  readFunctionFeatures,
  readStartInput,
  type StartInput,
} from "../start/start-input.ts";
import { UserError } from "../user-error.ts";

/** The command line of `purlin up`, understood. */
export interface UpOptions {
  /** Files and folders as the user named them. */
  readonly paths: readonly string[];
  /** Absolute. */
  readonly directory: string;
  /** Where the API server listens, 0 for any free port; where it did before unless given. */
  readonly port: number | undefined;
  /** Where the registry listens, 0 for any free port; where it did before unless given. */
  readonly registryPort?: number | undefined;
  /** Replace certificates and keys that are damaged. */
  readonly repairCertificates?: boolean;
  /** Leave when all is ready, or with what is not after this many milliseconds. */
  readonly waitMs: number | undefined;
  readonly debug: boolean;
  /** Delete objects that were removed from the files. */
  readonly prune?: boolean;
  /** Start on a data directory that has lost writes which were acknowledged. */
  readonly acceptsLoss?: boolean;
  /** Requests of one user that the API server answers at the same time. */
  readonly maxRequestsInFlight?: number | undefined;
  /** Log requests to the API server. */
  readonly audit?: AuditSettings | undefined;
  /** Where webhooks of Services are. */
  readonly webhookTargets?: ReturnType<typeof readWebhookTargets>;
  /** Names of the admission plugins to run. */
  readonly admissionPlugins?: readonly string[];
  /** How the API server authorizes requests. */
  readonly authorization?: Authorization;
  /** Several revisions of a function at once, and compositions that choose. */
  readonly functionRevisionSelectors: boolean;
  /** The other features; the defaults unless given. */
  readonly features?: Partial<ControlPlaneSettings>;
  /** Whether dependencies of packages may be moved to other versions. */
  readonly dependencyVersions?: ReturnType<typeof dependencyVersions>;
  /** The response cache and the pipeline inspector; `up` closes the latter. */
  readonly functionFeatures?: FunctionFeatures;
  /** Settings that were accepted and change nothing. */
  readonly unused?: StartInput["unused"];
  /** Whether workloads are simulated, or only stored. */
  readonly workloads?: WorkloadMode;
  /** Refuse to run functions without a sandbox. */
  readonly requireSandbox?: boolean;
  /** What functions may use, where it is not the default. */
  readonly functionLimits?: Partial<FunctionLimits>;
  /** How much a function may answer. */
  readonly answerLimits?: Partial<AnswerLimits>;
  /** Paths of fields that recorded runs do not contain. */
  readonly redact?: readonly string[];
}

/** Reads the command line. */
export function readUpOptions(input: CommandInput, io: Io): UpOptions {
  const project = readProjectFile(io);
  const directory = ownDataDir(input, io);
  const { input: complete, unused } = readFeatureInput(input, directory);
  const features = readFeatures(complete);
  const functionRollouts = features.functionRollouts || project.features.functionRollouts === true;
  const timeoutMs = readTimeout(textOption(input, "timeout") ?? "5m");
  return {
    paths: input.args.length > 0 ? input.args : (project.paths ?? []).map((path) => relative(io.cwd, path) || "."),
    directory,
    port: readPort(input.options["port"] ?? project.ports.api?.toString()),
    registryPort: readPort(input.options["registryPort"] ?? project.ports.registry?.toString(), "--registry-port"),
    repairCertificates: isSet(input, "repairCertificates"),
    waitMs: isSet(input, "wait") ? timeoutMs : undefined,
    prune: isSet(input, "prune"),
    acceptsLoss: isSet(input, "acceptDataLoss"),
    maxRequestsInFlight: readMaxRequestsInFlight(input.options["maxRequestsInflight"]),
    audit: readAuditSettings(input, directory, io),
    webhookTargets: readWebhookTargets(input),
    admissionPlugins: readAdmissionPlugins(input),
    authorization: readAuthorization(input.options["authorization"]),
    debug: isSet(input, "debug"),
    functionRevisionSelectors:
      functionRollouts || features.functionRevisionSelectors || project.features.functionRevisionSelectors === true,
    features: { ...features, functionRollouts },
    dependencyVersions: dependencyVersions(complete),
    functionFeatures: readFunctionFeatures(complete, io),
    unused,
    workloads: readWorkloads(input, "simulate"),
    requireSandbox: isSet(input, "requireSandbox") || project.functions.requireSandbox === true,
    functionLimits: { ...project.functions.limits, ...limitsOf(input) },
    answerLimits: readFunctionLimits(input),
    redact: listOption(input, "redact"),
  };
}

/** Features are read as `start` reads them, but only flags count: variables are for Pods. */
function readFeatureInput(input: CommandInput, directory: string): StartInput {
  const { xfnCacheDir = join(directory, "xfn") } = input.options;
  return readStartInput({ ...input, options: { ...input.options, xfnCacheDir } }, { env: {} });
}

function limitsOf(input: CommandInput): Partial<FunctionLimits> {
  return readLimits(
    (field) => textOption(input, limitOption(field)),
    (field, expected) => {
      const flag = limitOption(field).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      return new UserError(`--${flag}: ${expected}, not "${textOption(input, limitOption(field))}"`, { exitCode: 2 });
    },
  );
}
