// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type {
  AnswerLimits,
  DevelopmentTrust,
  NameResolver,
  RunSink,
  SourceRuntime,
  TlsSource,
} from "@purlin/function-runner";
import type { KubeClient } from "@purlin/kube-client";
import type { InstallProgress, WatchingController } from "@purlin/kube-controller";
import type { RunStore } from "@purlin/run-store";
import type { Registry } from "prom-client";
import type { ControlPlaneDeps } from "./control-plane.ts";
import type { PackageManager } from "./packages/package-manager.ts";

/** The settings of controllers. */
export interface ControlPlaneSettings {
  /** How often every object is reconciled again. */
  readonly syncIntervalMs: number;
  /** How often composite resources are reconciled without watches. */
  readonly pollIntervalMs: number;
  /** The shortest interval that a composite resource may ask for by annotation. */
  readonly minPollIntervalMs: number;
  /** How many objects each controller may reconcile at the same time. */
  readonly maxConcurrentReconciles: number;
  /** A control plane that stops waits this long for reconciles that run, then cancels them: ten seconds unless given. */
  readonly stopGraceMs?: number | undefined;
  /** One reconcile of a composite resource, with all calls of functions, takes this long at most: two minutes unless given. */
  readonly compositeDeadlineMs?: number | undefined;
  readonly circuitBreaker: {
    readonly burst: number;
    readonly refillPerSecond: number;
    readonly cooldownMs: number;
  };
  /** Wake composite resources when something they composed or required changes. */
  readonly realtimeCompositions: boolean;
  /** Sync claims by server-side apply. */
  readonly serverSideApplyClaims: boolean;
  /** A composite resource that was bound to its claim in another version of the claim's kind is still that claim's. */
  readonly acceptOtherClaimVersions: boolean;
  /** Steps may name revisions of functions. */
  readonly functionRevisionSelectors: boolean;
  /** Names of definitions whose kinds accept any field: those of a test that no file has. */
  readonly openDefinitions?: ReadonlySet<string> | undefined;
  /** FunctionRollouts move composite resources between revisions; needs `functionRevisionSelectors`. */
  readonly functionRollouts: boolean;
  /** The share of reconciles, in percent, that run the candidate of a rollout again for a composite resource that was compared. Default 5. */
  readonly shadowSamplePercent?: number | undefined;
  /** Functions may be reached where their annotations say. */
  readonly developmentFunctions: boolean;
  /** Whose annotations are trusted: all but those of controllers, unless given. */
  readonly developmentTrust?: DevelopmentTrust | undefined;
  /** Emit no events for cluster-scoped objects. */
  readonly namespacedEventsOnly: boolean;
  /** Refuse to delete what a Usage or ClusterUsage protects. */
  readonly usages: boolean;
  /** Run Operations, CronOperations and WatchOperations. */
  readonly operations: boolean;
  /** Install the CRDs of Providers as ManagedResourceDefinitions. */
  readonly managedResourceConversion: boolean;
  /** Patterns of ManagedResourceDefinitions to activate: the policy `default`, which is created if it does not exist. None if empty. */
  readonly activations: readonly string[];
  /** Refuse to delete Providers that have managed resources, and definitions that have composite resources. */
  readonly providerDeletionProtection: boolean;
}

const minuteMs = 60_000;

/** The default settings. */
export const defaultControlPlaneSettings: ControlPlaneSettings = {
  syncIntervalMs: 60 * minuteMs,
  pollIntervalMs: minuteMs,
  minPollIntervalMs: 1000,
  maxConcurrentReconciles: 100,
  circuitBreaker: { burst: 100, refillPerSecond: 1, cooldownMs: 5 * minuteMs },
  realtimeCompositions: true,
  serverSideApplyClaims: true,
  acceptOtherClaimVersions: false,
  functionRevisionSelectors: false,
  functionRollouts: false,
  developmentFunctions: false,
  namespacedEventsOnly: false,
  usages: true,
  operations: false,
  managedResourceConversion: true,
  activations: ["*"],
  providerDeletionProtection: false,
};

/** How functions that have packages, or source files, are reached. */
export interface FunctionOptions {
  /** Mutual TLS, or explicitly "plaintext". */
  readonly security: TlsSource | "plaintext";
  /** Runs source files of functions under development; without it none is run. */
  readonly sources?: SourceRuntime | undefined;
  /** Resolves the addresses of functions; DNS unless given. */
  readonly names?: NameResolver | undefined;
  /** Receives a copy of every request and response, without secrets. */
  readonly sink?: RunSink | undefined;
  /** A release line of Crossplane to imitate. */
  readonly asCrossplane?: string | undefined;
  /** The limits of responses. */
  readonly answerLimits?: Partial<AnswerLimits> | undefined;
  /** Keeps responses for as long as functions allow. Off unless given. */
  readonly responseCache?: { readonly directory: string; readonly maxTtlMs?: number | undefined } | undefined;
}

/** Leader election, for several control planes on one API server. */
interface ElectionOptions {
  readonly namespace: string;
  /** The name of the Lease; the one Crossplane uses by default. */
  readonly name?: string | undefined;
  readonly identity: string;
  readonly leaseDurationMs?: number | undefined;
  readonly renewDeadlineMs?: number | undefined;
  readonly retryPeriodMs?: number | undefined;
}

/** The options of {@link startControlPlane}. */
export interface ControlPlaneOptions {
  /** The client of the API server. The caller closes it. */
  readonly client: KubeClient;
  readonly functions: FunctionOptions;
  readonly settings?: Partial<ControlPlaneSettings> | undefined;
  /** Without it no other control plane may use the same API server. */
  readonly election?: ElectionOptions | undefined;
  readonly registry?: Registry | undefined;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
  /** Called whenever the controllers are about to be started; they are not when it rejects. */
  readonly beforeStart?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** Called for each of our CRDs while they are installed. */
  readonly onInstall?: ((progress: InstallProgress) => void) | undefined;
  /** Records reconciles of composite resources; without it none is recorded. */
  readonly runs?: (Pick<RunStore, "record" | "sensitive"> & Partial<Pick<RunStore, "directory">>) | undefined;
  /** Manages packages; without it functions come from elsewhere. */
  readonly packages?: PackageManager | undefined;
  /** Controllers beside those of composition, created when the control plane starts. */
  readonly more?: ((parts: ControlPlaneDeps) => readonly WatchingController[]) | undefined;
}
