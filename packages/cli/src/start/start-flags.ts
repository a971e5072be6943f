// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../options/command-spec.ts";
import { functionLimit, redactOption } from "../options/shared-options.ts";
import { crossplaneSettings } from "./crossplane-settings.ts";

/** The features that users switch on and off, the same for a cluster and for one machine. */
export const featureFlags: readonly OptionSpec[] = [
  {
    flags: "--enable-realtime-compositions [bool]",
    description: "reconcile composite resources when composed or required resources change (true)",
  },
  { flags: "--enable-ssa-claims [bool]", description: "sync claims with server-side apply (true)" },
  {
    flags: "--accept-other-claim-versions [bool]",
    description: "accept composite resources bound by a claim of another version",
  },
  {
    flags: "--enable-function-revision-selectors [bool]",
    description: "allow several active revisions of a function, selected by pipeline steps (alpha)",
  },
  {
    flags: "--enable-function-rollouts [bool]",
    description:
      "serve FunctionRollout, which moves composite resources between revisions; implies --enable-function-revision-selectors (alpha)",
  },
  {
    flags: "--enable-usages [bool]",
    description: "refuse to delete resources that a Usage or ClusterUsage protects (true)",
  },
  { flags: "--enable-operations [bool]", description: "run Operations, CronOperations and WatchOperations (alpha)" },
  {
    flags: "--enable-custom-to-managed-resource-conversion [bool]",
    description: "install the CRDs of Providers as ManagedResourceDefinitions (true)",
  },
  {
    flags: "--activation <pattern>",
    description: "managed resources to activate, such as *.s3.example.org; repeatable; none activates nothing (*)",
    repeatable: true,
  },
  {
    flags: "--enable-provider-deletion-protection [bool]",
    description:
      "refuse to delete Providers that have managed resources, and definitions that have composite resources (alpha)",
  },
  {
    flags: "--enable-dependency-version-upgrades [bool]",
    description: "upgrade dependencies whose version violates a constraint (alpha)",
  },
  {
    flags: "--enable-dependency-version-downgrades [bool]",
    description: "also downgrade dependencies if no higher version fits (alpha)",
  },
  {
    flags: "--enable-function-response-cache [bool]",
    description: "cache function responses for their TTL (alpha)",
  },
  {
    flags: "--enable-pipeline-inspector [bool]",
    description: "send function requests and responses, without secrets, to a pipeline inspector (alpha)",
  },
  {
    flags: "--pipeline-inspector-socket <path>",
    description:
      "Unix socket of the pipeline inspector ($PIPELINE_INSPECTOR_SOCKET, or /var/run/pipeline-inspector/socket)",
  },
  {
    flags: "--restrict-namespaced-events [bool]",
    description: "emit no events for cluster-scoped objects",
  },
  {
    flags: "--xfn-cache-max-ttl <duration>",
    description: "maximum TTL of cached responses ($XFN_CACHE_MAX_TTL, or 24h)",
  },
];

/** The options that have an effect. Those that Crossplane has as well mean the same and have the same defaults. */
const effectiveFlags: readonly OptionSpec[] = [
  { flags: "--kubeconfig <file>", description: "kubeconfig of the cluster (in a Pod: its own cluster)" },
  { flags: "--context <name>", description: "kubeconfig context (the current context)" },
  {
    flags: "-n, --namespace <name>",
    description: "namespace of packages and of the leader election Lease ($POD_NAMESPACE, or crossplane-system)",
  },
  {
    flags: "-l, --leader-election [bool]",
    description: "use leader election ($LEADER_ELECTION, or true)",
  },
  { flags: "-s, --sync-interval <duration>", description: "how often all objects are reconciled again", default: "1h" },
  {
    flags: "--poll-interval <duration>",
    description: "how often composite resources are reconciled without a watch event",
    default: "1m",
  },
  {
    flags: "--min-poll-interval <duration>",
    description: "minimum poll interval a composite resource can set",
    default: "1s",
  },
  {
    flags: "--shadow-sample-percent <n>",
    description:
      "percentage of reconciles that run the candidate of a FunctionRollout again for a composite resource that was compared (default 5)",
  },
  {
    flags: "--max-concurrent-reconciles <n>",
    description: "maximum number of concurrent reconciles per controller",
    default: "100",
  },
  { flags: "--max-reconcile-rate <n>", description: "deprecated name of --max-concurrent-reconciles" },
  {
    flags: "--max-concurrent-package-establishers <n>",
    description: "maximum number of package objects written concurrently",
    default: "10",
  },
  {
    flags: "--circuit-breaker-burst <n>",
    description: "circuit breaker: burst of watch events allowed per composite resource",
    default: "100",
  },
  {
    flags: "--circuit-breaker-refill-rate <n>",
    description: "circuit breaker: sustained watch events per second",
    default: "1",
  },
  { flags: "--circuit-breaker-cooldown <duration>", description: "circuit breaker: minimum time open", default: "5m" },
  ...featureFlags,
  { flags: "--xfn-cache-dir <dir>", description: "response cache directory ($XFN_CACHE_DIR, or /cache/xfn)" },
  functionLimit,
  {
    flags: "--recorder-dir <dir>",
    description: "record every reconcile of composite resources in this folder, for purlin runs (off)",
  },
  {
    flags: "--recorder-address <address>",
    description:
      "serve recorded runs at this address, such as :8082, for the Service purlin-runs; it asks for no credentials (off)",
  },
  redactOption,
  {
    flags: "--package-runtime <runtime>",
    description:
      "package runtime: Deployment, External, or by kind, Provider=…;Function=… ($PACKAGE_RUNTIME, or Deployment)",
  },
  {
    flags: "--require-sandbox [bool]",
    description:
      "refuse to run functions without a sandbox; always true here, because functions run in Pods or externally",
  },
  {
    flags: "--service-account <name>",
    description:
      "service account of the control plane, whose image pull secrets are used for packages ($POD_SERVICE_ACCOUNT)",
  },
  {
    flags: "-c, --xpkg-cache-dir <dir>",
    description: "package cache directory ($XPKG_CACHE_DIR, or purlin/xpkg in this user's cache)",
  },
  { flags: "--cache-dir <dir>", description: "deprecated name of --xpkg-cache-dir ($CACHE_DIR)" },
  {
    flags: "--ca-bundle-path <file>",
    description: "additional certificate authorities for registries ($CA_BUNDLE_PATH)",
  },
  { flags: "--user-agent <text>", description: "User-Agent of requests to registries ($USER_AGENT, or purlin)" },
  {
    flags: "--allow-development-functions [bool]",
    description:
      "call functions in plaintext at the address in their annotations: anyone who can edit Functions can then read all data",
  },
  {
    flags: "--tls-client-certs-dir <dir>",
    description:
      "folder of tls.crt, tls.key and ca.crt to call functions with ($TLS_CLIENT_CERTS_DIR, or Secret crossplane-tls-client)",
  },
  {
    flags: "--tls-client-secret-name <name>",
    description: "Secret of the client certificate ($TLS_CLIENT_SECRET_NAME, or crossplane-tls-client)",
  },
  {
    flags: "--enable-webhooks [bool]",
    description:
      "serve the webhook that protects resources with Usages, and definitions with objects ($ENABLE_WEBHOOKS, or true)",
  },
  { flags: "--webhook-enabled [bool]", description: "deprecated name of --enable-webhooks" },
  { flags: "--webhook-port <port>", description: "port of the webhook ($WEBHOOK_PORT, or 9443)" },
  {
    flags: "--webhook-url <url>",
    description: "https URL at which the API server reaches this process (in a Pod: the Service crossplane-webhooks)",
  },
  {
    flags: "--usage-webhook-failure-policy <policy>",
    description: "what happens to deletions of used resources while the webhook cannot be reached: Fail or Ignore",
    default: "Fail",
  },
  {
    flags: "--tls-server-secret-name <name>",
    description: "Secret of the webhook's certificate ($TLS_SERVER_SECRET_NAME, or crossplane-tls-server)",
  },
  {
    flags: "--metrics-address <address>",
    description: "address of /metrics; 0 disables it (127.0.0.1:8080, in a Pod :8080)",
  },
  { flags: "--metrics-port <port>", description: "port of --metrics-address ($METRICS_PORT)" },
  {
    flags: "--health-address <address>",
    description: "address of /healthz and /readyz; 0 disables them (127.0.0.1:8081, in a Pod :8081)",
  },
  { flags: "--health-probe-port <port>", description: "port of --health-address ($HEALTH_PROBE_PORT)" },
];

/** Flags of Crossplane that change nothing here: accepted, logged, and left out of help. */
const unusedFlags: readonly OptionSpec[] = crossplaneSettings.flatMap(
  ({ flag, aliases = [], type, withoutEffect, removed }) => {
    if (withoutEffect === undefined && removed !== true) return [];
    const description = withoutEffect ?? "removed from Crossplane";
    const value = type === "bool" ? "[bool]" : "<value>";
    return [flag, ...aliases].map((name) => ({ flags: `--${name} ${value}`, description, hidden: true }));
  },
);

/** Features of Crossplane that cannot be switched here. */
export const unusedFeatureFlags: readonly OptionSpec[] = unusedFlags.filter(({ flags }) =>
  flags.startsWith("--enable-"),
);

/** The options of `purlin start`: every one of `crossplane core start`, and a few more. */
export const startFlags: readonly OptionSpec[] = [...effectiveFlags, ...unusedFlags];
