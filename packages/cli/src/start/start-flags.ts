// SPDX-License-Identifier: Apache-2.0
import type { OptionSpec } from "../commands/command-spec.ts";
import { functionLimit } from "../commands/function-limit-flag.ts";
import { crossplaneSettings } from "./crossplane-settings.ts";

/** The options that have an effect. Those that Crossplane has as well mean the same and have the same defaults. */
const effectiveFlags: readonly OptionSpec[] = [
  { flags: "--kubeconfig <file>", description: "the API server to work on (in a Pod: that of its own cluster)" },
  { flags: "--context <name>", description: "the context of the kubeconfig, instead of the current one" },
  {
    flags: "-n, --namespace <name>",
    description: "where packages run, and where the leader's Lease is ($POD_NAMESPACE, or crossplane-system)",
  },
  {
    flags: "-l, --leader-election [bool]",
    description: "work only while holding the leader's Lease ($LEADER_ELECTION, or true)",
  },
  { flags: "-s, --sync-interval <duration>", description: "how often every object is reconciled again", default: "1h" },
  {
    flags: "--poll-interval <duration>",
    description: "how often composite resources are reconciled without a watch event",
    default: "1m",
  },
  {
    flags: "--min-poll-interval <duration>",
    description: "the shortest poll interval a composite resource may ask for",
    default: "1s",
  },
  {
    flags: "--max-concurrent-reconciles <n>",
    description: "how many objects each controller reconciles at the same time",
    default: "100",
  },
  { flags: "--max-reconcile-rate <n>", description: "the older name of --max-concurrent-reconciles" },
  {
    flags: "--max-concurrent-package-establishers <n>",
    description: "how many objects of a package are written at the same time",
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
  {
    flags: "--enable-realtime-compositions [bool]",
    description: "reconcile composite resources when composed or required resources change (true)",
  },
  { flags: "--enable-ssa-claims [bool]", description: "sync claims by server-side apply (true)" },
  {
    flags: "--accept-other-claim-versions [bool]",
    description: "keep composite resources that were bound by a claim of another version",
  },
  {
    flags: "--enable-function-revision-selectors [bool]",
    description: "several revisions of a function at once, and pipeline steps that choose (alpha)",
  },
  functionLimit,
  {
    flags: "--package-runtime <runtime>",
    description:
      "what runs packages: Deployment, External, or by kind, Provider=…;Function=… ($PACKAGE_RUNTIME, or Deployment)",
  },
  {
    flags: "--require-sandbox [bool]",
    description: "refuse to run functions without a sandbox; always so here, where they run in Pods or elsewhere",
  },
  {
    flags: "--service-account <name>",
    description: "the control plane's own: packages may be pulled with its secrets ($POD_SERVICE_ACCOUNT)",
  },
  {
    flags: "-c, --xpkg-cache-dir <dir>",
    description: "where package contents are kept ($XPKG_CACHE_DIR, or purlin/xpkg in this user's cache)",
  },
  { flags: "--cache-dir <dir>", description: "the older name of --xpkg-cache-dir ($CACHE_DIR)" },
  {
    flags: "--ca-bundle-path <file>",
    description: "certificate authorities of registries, in addition to the system's ($CA_BUNDLE_PATH)",
  },
  { flags: "--user-agent <text>", description: "the User-Agent of requests to registries ($USER_AGENT, or purlin)" },
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
  { flags: "--xfn-cache-dir <dir>", description: "where responses are kept ($XFN_CACHE_DIR, or /cache/xfn)" },
  {
    flags: "--xfn-cache-max-ttl <duration>",
    description: "the longest time a response is kept ($XFN_CACHE_MAX_TTL, or 24h)",
  },
  {
    flags: "--enable-pipeline-inspector [bool]",
    description: "send requests and responses of functions, without secrets, to an inspector (alpha)",
  },
  {
    flags: "--pipeline-inspector-socket <path>",
    description: "the unix socket of the inspector ($PIPELINE_INSPECTOR_SOCKET, or /var/run/pipeline-inspector/socket)",
  },
  {
    flags: "--restrict-namespaced-events [bool]",
    description: "emit no events for cluster-scoped objects",
  },
  {
    flags: "--allow-development-functions [bool]",
    description:
      "call functions in plaintext at the address in their annotations: anyone who can edit a Function then sees all data",
  },
  {
    flags: "--tls-client-certs-dir <dir>",
    description:
      "tls.crt, tls.key and ca.crt to call functions with ($TLS_CLIENT_CERTS_DIR, or Secret crossplane-tls-client)",
  },
  {
    flags: "--tls-client-secret-name <name>",
    description: "the Secret of the client certificate ($TLS_CLIENT_SECRET_NAME, or crossplane-tls-client)",
  },
  {
    flags: "--metrics-address <address>",
    description: "where /metrics is served; 0 turns it off (127.0.0.1:8080, in a Pod :8080)",
  },
  { flags: "--metrics-port <port>", description: "only the port of --metrics-address ($METRICS_PORT)" },
  {
    flags: "--health-address <address>",
    description: "where /healthz and /readyz are served; 0 turns it off (127.0.0.1:8081, in a Pod :8081)",
  },
  { flags: "--health-probe-port <port>", description: "only the port of --health-address ($HEALTH_PROBE_PORT)" },
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

/** The options of `purlin start`: every one of `crossplane core start`, and a few more. */
export const startFlags: readonly OptionSpec[] = [...effectiveFlags, ...unusedFlags];
