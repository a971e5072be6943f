// SPDX-License-Identifier: Apache-2.0

/** A flag of `crossplane core start`, and its effect here. */
export interface CrossplaneSetting {
  /** Without its dashes. */
  readonly flag: string;
  /** Other names of the flag. */
  readonly aliases?: readonly string[];
  /** The variables that set it, the first one that has a value counts. */
  readonly env?: readonly string[];
  readonly type: "bool" | "text";
  /** The value where neither flag nor variable is set; absent where the reader of the option decides. */
  readonly preset?: string;
  /** Why setting it changes nothing; absent where it has an effect. */
  readonly withoutEffect?: string;
  /** The value that asks for what this control plane does anyway. */
  readonly metBy?: string;
  /** Crossplane removed it and fails when it is set. */
  readonly removed?: true;
}

const certificateKept = "the certificate of webhooks is that of --tls-server-secret-name";

/** Every flag and variable of `crossplane core start`, in the order of its help. */
export const crossplaneSettings: readonly CrossplaneSetting[] = [
  { flag: "profile", type: "text", withoutEffect: "this control plane serves no pprof profiles" },
  { flag: "namespace", env: ["POD_NAMESPACE"], type: "text", preset: "crossplane-system" },
  { flag: "service-account", env: ["POD_SERVICE_ACCOUNT"], type: "text" },
  { flag: "leader-election", env: ["LEADER_ELECTION"], type: "bool", preset: "true" },
  { flag: "ca-bundle-path", env: ["CA_BUNDLE_PATH"], type: "text" },
  { flag: "user-agent", env: ["USER_AGENT"], type: "text" },
  { flag: "xpkg-cache-dir", aliases: ["cache-dir"], env: ["XPKG_CACHE_DIR", "CACHE_DIR"], type: "text" },
  { flag: "package-runtime", env: ["PACKAGE_RUNTIME"], type: "text", preset: "Deployment" },
  { flag: "sync-interval", type: "text" },
  { flag: "poll-interval", type: "text" },
  { flag: "min-poll-interval", type: "text" },
  { flag: "max-concurrent-reconciles", aliases: ["max-reconcile-rate"], type: "text" },
  { flag: "max-concurrent-package-establishers", type: "text" },
  { flag: "circuit-breaker-burst", type: "text" },
  { flag: "circuit-breaker-refill-rate", type: "text" },
  { flag: "circuit-breaker-cooldown", type: "text" },
  {
    flag: "enable-webhooks",
    aliases: ["webhook-enabled"],
    env: ["ENABLE_WEBHOOKS", "WEBHOOK_ENABLED"],
    type: "bool",
    preset: "true",
  },
  { flag: "webhook-port", env: ["WEBHOOK_PORT"], type: "text", preset: "9443" },
  { flag: "metrics-port", env: ["METRICS_PORT"], type: "text" },
  { flag: "health-probe-port", env: ["HEALTH_PROBE_PORT"], type: "text" },
  { flag: "tls-server-secret-name", env: ["TLS_SERVER_SECRET_NAME"], type: "text", preset: "crossplane-tls-server" },
  { flag: "tls-server-certs-dir", env: ["TLS_SERVER_CERTS_DIR"], type: "text", withoutEffect: certificateKept },
  { flag: "tls-client-secret-name", env: ["TLS_CLIENT_SECRET_NAME"], type: "text" },
  { flag: "tls-client-certs-dir", env: ["TLS_CLIENT_CERTS_DIR"], type: "text" },
  { flag: "enable-dependency-version-upgrades", type: "bool" },
  { flag: "enable-dependency-version-downgrades", type: "bool" },
  {
    flag: "enable-signature-verification",
    type: "bool",
    withoutEffect: "this control plane cannot verify signatures",
    metBy: "false",
  },
  { flag: "enable-function-response-cache", type: "bool" },
  { flag: "xfn-cache-dir", env: ["XFN_CACHE_DIR"], type: "text", preset: "/cache/xfn" },
  { flag: "xfn-cache-max-ttl", env: ["XFN_CACHE_MAX_TTL"], type: "text", preset: "24h" },
  { flag: "enable-operations", type: "bool" },
  { flag: "enable-pipeline-inspector", type: "bool" },
  {
    flag: "pipeline-inspector-socket",
    env: ["PIPELINE_INSPECTOR_SOCKET"],
    type: "text",
    preset: "/var/run/pipeline-inspector/socket",
  },
  { flag: "enable-provider-deletion-protection", type: "bool" },
  {
    flag: "enable-deployment-runtime-configs",
    type: "bool",
    withoutEffect: "DeploymentRuntimeConfigs are always on",
    metBy: "true",
  },
  { flag: "enable-usages", type: "bool", preset: "true" },
  { flag: "enable-ssa-claims", type: "bool", preset: "true" },
  { flag: "enable-realtime-compositions", type: "bool", preset: "true" },
  { flag: "enable-custom-to-managed-resource-conversion", type: "bool", preset: "true" },
  { flag: "restrict-namespaced-events", type: "bool" },
  {
    flag: "watch-cache-namespaced",
    type: "bool",
    withoutEffect: "caches always cover all namespaces",
    metBy: "false",
  },
  { flag: "enable-composition-webhook-schema-validation", type: "bool", removed: true },
  { flag: "enable-external-secret-stores", type: "bool", removed: true },
  { flag: "registry", type: "text", removed: true },
];
