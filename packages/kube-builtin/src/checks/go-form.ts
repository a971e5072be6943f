// SPDX-License-Identifier: Apache-2.0
// How the reference prints values of its own types in errors: members in the order of the type, absent ones included.
import { inMetaOrder, selectorInGo } from "@purlin/kube-apiserver/kinds";
import { goJson, isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { memberAt, objectAt } from "@purlin/kube-objects/object";
import { unifiedDiff } from "./unified-diff.ts";

/** Prints a member; undefined where the object does not have it. */
type Print = (value: JsonValue | undefined) => string;

interface Member {
  readonly shown: string;
  readonly name: string;
  readonly kind: string;
  readonly type: string;
}

const memberPattern = /^(?<shown>\w+?)(?:=(?<given>\w+))?(?<kind>[#!*>]|\{\}|\[\])?(?::(?<type>\w+))?$/;

function memberOf(text: string): Member {
  const { shown = "", given, kind = "", type = "" } = memberPattern.exec(text)?.groups ?? {};
  return { shown, name: given ?? lowerCase(shown), kind, type };
}

/** `FSType` is `fsType`, `NFS` is `nfs`. */
const lowerCase = (name: string): string =>
  name.replace(/^(?:[A-Z]+$|[A-Z]+(?=[A-Z])|[A-Z])/, (start) => start.toLowerCase());

const known = new Map<string, readonly Member[]>();

function membersOf(type: string): readonly Member[] {
  const parsed = known.get(type) ?? (goTypes[type] ?? "").split(" ").map(memberOf);
  known.set(type, parsed);
  return parsed;
}

/** The metadata of a template, whose members come before those of the template itself. */
function printMeta(object: JsonObject): string[] {
  const printed = printJson(inMetaOrder(objectAt(object, ["metadata"])), { htmlSafe: true });
  return printed === "{}" ? [] : [printed.slice(1, -1)];
}

function printMembers(type: string, object: JsonObject): string[] {
  return membersOf(type).flatMap((member) => {
    if (member.shown === "ObjectMeta") return printMeta(object);
    if (member.kind === ">") return printMembers(member.shown, object);
    const value = member.shown === "SecurityContext" && type === "PodSpec" ? hostContext(object) : object[member.name];
    return [`${goJson(member.shown)}:${printMember(member)(value)}`];
  });
}

/** What a Pod shares with its host, which the type of the reference has in the security context. */
function hostContext(spec: JsonObject): JsonValue | undefined {
  const names = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];
  const context = memberAt(spec, ["securityContext"]);
  const shared = names.flatMap((name) => (spec[name] === undefined ? [] : [[name, spec[name]] as const]));
  if (!isJsonObject(context) && shared.length === 0) return undefined;
  return { ...objectAt(spec, ["securityContext"]), ...Object.fromEntries(shared) } as JsonObject;
}

const printOf = (type: string): Print =>
  type === "" ? (value) => goJson(value ?? null) : (value) => goForm(type, value);

function printMember({ kind, type }: Member): Print {
  switch (kind) {
    case "#":
      return (value) => goJson(value ?? 0);
    case "!":
      return (value) => goJson(value ?? false);
    case "*":
      return (value) => (value === undefined || value === null ? "null" : printOf(type)(value));
    case "{}":
      return printOf("");
    case "[]":
      return (value) => (Array.isArray(value) && value.length > 0 ? `[${value.map(printOf(type)).join(",")}]` : "null");
    default:
      return type === "" ? (value) => goJson(value ?? "") : printOf(type);
  }
}

/** A value as the reference prints it. */
export function goForm(type: string, value: JsonValue | undefined): string {
  const object = isJsonObject(value) ? value : {};
  return type === "LabelSelector" ? selectorInGo(object) : `{${printMembers(type, object).join(",")}}`;
}

/** A list of values as the reference prints it. */
export function goForms(type: string, values: readonly JsonValue[]): string {
  return values.length === 0 ? "null" : `[${values.map((value) => goForm(type, value)).join(",")}]`;
}

/** How two values of a type differ, as the reference prints it. */
export function goDifference(type: string, before: JsonValue | undefined, now: JsonValue | undefined): string {
  const [old, new_] = [goForm(type, before), goForm(type, now)];
  return old === new_ ? "" : unifiedDiff(indentedLines(old), indentedLines(new_));
}

const tokenPattern = /"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]|[^"{}[\],:]+/g;

/** JSON without spaces, line by line and with spaces. A text may be as long as a request, and its first lines are enough for most. */
function* indentedLines(json: string): Generator<string> {
  let [line, depth] = ["", 0];
  for (const [token] of json.matchAll(tokenPattern)) {
    if (token === "}" || token === "]") {
      yield line;
      depth -= 1;
      line = " ".repeat(depth) + token;
    } else if (token === "," || token === "{" || token === "[") {
      yield line + token;
      if (token !== ",") depth += 1;
      line = " ".repeat(depth);
    } else line += token === ":" ? ": " : shownToken(token);
  }
  yield line;
}

/** A token as Go indents it: of the escapes, those of a few characters stay. */
function shownToken(token: string): string {
  if (!token.includes("\\")) return token;
  return JSON.stringify(JSON.parse(token)).replaceAll(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}

// The types of the reference whose values its errors print: names of members, in their order.

/**
 * The members of each type. `Name` is a text, `Name#` a number, `Name!` a boolean, `Name*` a pointer, `Name{}` a map and `Name[]` a list.
 * `:Type` is the type of the member, or of what it points to or lists. `Name>` has the members of a type inline. `Name=name` has another
 * name in objects than its own in lower case.
 */
const goTypes: Readonly<Record<string, string>> = {
  AWSElasticBlockStoreVolumeSource: "VolumeID FSType Partition# ReadOnly!",
  Affinity: "NodeAffinity*:NodeAffinity PodAffinity*:PodAffinity PodAntiAffinity*:PodAntiAffinity",
  AllocationResult: "Devices:DeviceAllocationResult NodeSelector*:NodeSelector AllocationTimestamp*",
  AppArmorProfile: "Type LocalhostProfile*",
  AzureDiskVolumeSource: "DiskName DataDiskURI=diskURI CachingMode* FSType* ReadOnly* Kind*",
  AzureFilePersistentVolumeSource: "SecretName ShareName ReadOnly! SecretNamespace*",
  AzureFileVolumeSource: "SecretName ShareName ReadOnly!",
  CELDeviceSelector: "Expression",
  CSIPersistentVolumeSource:
    "Driver VolumeHandle ReadOnly! FSType VolumeAttributes{} ControllerPublishSecretRef*:SecretReference NodeStageSecretRef*:SecretReference NodePublishSecretRef*:SecretReference ControllerExpandSecretRef*:SecretReference NodeExpandSecretRef*:SecretReference",
  CSIVolumeSource: "Driver ReadOnly* FSType* VolumeAttributes{} NodePublishSecretRef*:LocalObjectReference",
  Capabilities: "Add[] Drop[]",
  CapacityRequirements: "Requests{}",
  CephFSPersistentVolumeSource: "Monitors[] Path User SecretFile SecretRef*:SecretReference ReadOnly!",
  CephFSVolumeSource: "Monitors[] Path User SecretFile SecretRef*:LocalObjectReference ReadOnly!",
  CinderPersistentVolumeSource: "VolumeID FSType ReadOnly! SecretRef*:SecretReference",
  CinderVolumeSource: "VolumeID FSType ReadOnly! SecretRef*:LocalObjectReference",
  ClusterTrustBundleProjection: "Name* SignerName* LabelSelector*:LabelSelector Optional* Path",
  ConfigMapEnvSource: "LocalObjectReference> Optional*",
  ConfigMapKeySelector: "LocalObjectReference> Key Optional*",
  ConfigMapProjection: "LocalObjectReference> Items[]:KeyToPath Optional*",
  ConfigMapVolumeSource: "LocalObjectReference> Items[]:KeyToPath DefaultMode* Optional*",
  Container:
    "Name Image Command[] Args[] WorkingDir Ports[]:ContainerPort EnvFrom[]:EnvFromSource Env[]:EnvVar Resources:ResourceRequirements ResizePolicy[]:ContainerResizePolicy RestartPolicy* RestartPolicyRules[]:ContainerRestartRule VolumeMounts[]:VolumeMount VolumeDevices[]:VolumeDevice LivenessProbe*:Probe ReadinessProbe*:Probe StartupProbe*:Probe Lifecycle*:Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext*:SecurityContext Stdin! StdinOnce! TTY!",
  ContainerPort: "Name HostPort# ContainerPort# Protocol HostIP",
  ContainerResizePolicy: "ResourceName RestartPolicy",
  ContainerRestartRule: "Action ExitCodes*:ContainerRestartRuleOnExitCodes",
  ContainerRestartRuleOnExitCodes: "Operator Values[]",
  DeviceAllocationConfiguration: "Source Requests[] DeviceConfiguration>",
  DeviceAllocationResult: "Results[]:DeviceRequestAllocationResult Config[]:DeviceAllocationConfiguration",
  DeviceAttribute:
    "IntValue=int* BoolValue=bool* StringValue=string* VersionValue=version* IntValues=ints[] BoolValues=bools[] StringValues=strings[] VersionValues=versions[]",
  DeviceClaim: "Requests[]:DeviceRequest Constraints[]:DeviceConstraint Config[]:DeviceClaimConfiguration",
  DeviceClaimConfiguration: "Requests[] DeviceConfiguration>",
  DeviceConfiguration: "Opaque*:OpaqueDeviceConfiguration",
  DeviceConstraint: "Requests[] MatchAttribute* DistinctAttribute*",
  DeviceRequest: "Name Exactly*:ExactDeviceRequest FirstAvailable[]:DeviceSubRequest",
  DeviceRequestAllocationResult:
    "Request Driver Pool Device AdminAccess* Tolerations[]:DeviceToleration BindingConditions[] BindingFailureConditions[] ShareID* ConsumedCapacity{}",
  DeviceSelector: "CEL*:CELDeviceSelector",
  DeviceSubRequest:
    "Name DeviceClassName Selectors[]:DeviceSelector AllocationMode Count# Tolerations[]:DeviceToleration Capacity*:CapacityRequirements",
  DeviceToleration: "Key Operator Value Effect TolerationSeconds*",
  DownwardAPIProjection: "Items[]:DownwardAPIVolumeFile",
  DownwardAPIVolumeFile: "Path FieldRef*:ObjectFieldSelector ResourceFieldRef*:ResourceFieldSelector Mode*",
  DownwardAPIVolumeSource: "Items[]:DownwardAPIVolumeFile DefaultMode*",
  EmptyDirVolumeSource: "Medium SizeLimit*",
  EnvFromSource: "Prefix ConfigMapRef*:ConfigMapEnvSource SecretRef*:SecretEnvSource",
  EnvVar: "Name Value ValueFrom*:EnvVarSource",
  EnvVarSource:
    "FieldRef*:ObjectFieldSelector ResourceFieldRef*:ResourceFieldSelector ConfigMapKeyRef*:ConfigMapKeySelector SecretKeyRef*:SecretKeySelector FileKeyRef*:FileKeySelector",
  EphemeralContainer: "EphemeralContainerCommon> TargetContainerName",
  EphemeralContainerCommon:
    "Name Image Command[] Args[] WorkingDir Ports[]:ContainerPort EnvFrom[]:EnvFromSource Env[]:EnvVar Resources:ResourceRequirements ResizePolicy[]:ContainerResizePolicy RestartPolicy* RestartPolicyRules[]:ContainerRestartRule VolumeMounts[]:VolumeMount VolumeDevices[]:VolumeDevice LivenessProbe*:Probe ReadinessProbe*:Probe StartupProbe*:Probe Lifecycle*:Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext*:SecurityContext Stdin! StdinOnce! TTY!",
  EphemeralVolumeSource: "VolumeClaimTemplate*:PersistentVolumeClaimTemplate",
  ExactDeviceRequest:
    "DeviceClassName Selectors[]:DeviceSelector AllocationMode Count# AdminAccess* Tolerations[]:DeviceToleration Capacity*:CapacityRequirements",
  ExecAction: "Command[]",
  FCVolumeSource: "TargetWWNs[] Lun* FSType ReadOnly! WWIDs=wwids[]",
  FileKeySelector: "VolumeName Path Key Optional*",
  FlexPersistentVolumeSource: "Driver FSType SecretRef*:SecretReference ReadOnly! Options{}",
  FlexVolumeSource: "Driver FSType SecretRef*:LocalObjectReference ReadOnly! Options{}",
  FlockerVolumeSource: "DatasetName DatasetUUID",
  GCEPersistentDiskVolumeSource: "PDName FSType Partition# ReadOnly!",
  GRPCAction: "Port# Service*",
  GitRepoVolumeSource: "Repository Revision Directory",
  GlusterfsPersistentVolumeSource: "EndpointsName=endpoints Path ReadOnly! EndpointsNamespace*",
  GlusterfsVolumeSource: "EndpointsName=endpoints Path ReadOnly!",
  HTTPGetAction: "Path Port# Host Scheme HTTPHeaders[]:HTTPHeader",
  HTTPHeader: "Name Value",
  HostAlias: "IP Hostnames[]",
  HostPathVolumeSource: "Path Type*",
  ISCSIPersistentVolumeSource:
    "TargetPortal IQN Lun# ISCSIInterface FSType ReadOnly! Portals[] DiscoveryCHAPAuth=chapAuthDiscovery! SessionCHAPAuth=chapAuthSession! SecretRef*:SecretReference InitiatorName*",
  ISCSIVolumeSource:
    "TargetPortal IQN Lun# ISCSIInterface FSType ReadOnly! Portals[] DiscoveryCHAPAuth=chapAuthDiscovery! SessionCHAPAuth=chapAuthSession! SecretRef*:LocalObjectReference InitiatorName*",
  ImageVolumeSource: "Reference PullPolicy",
  KeyToPath: "Key Path Mode*",
  Lifecycle: "PostStart*:LifecycleHandler PreStop*:LifecycleHandler StopSignal*",
  LifecycleHandler: "Exec*:ExecAction HTTPGet*:HTTPGetAction TCPSocket*:TCPSocketAction Sleep*:SleepAction",
  LocalObjectReference: "Name",
  LocalVolumeSource: "Path FSType*",
  NFSVolumeSource: "Server Path ReadOnly!",
  NodeAffinity:
    "RequiredDuringSchedulingIgnoredDuringExecution*:NodeSelector PreferredDuringSchedulingIgnoredDuringExecution[]:PreferredSchedulingTerm",
  NodeSelector: "NodeSelectorTerms[]:NodeSelectorTerm",
  NodeSelectorRequirement: "Key Operator Values[]",
  NodeSelectorTerm: "MatchExpressions[]:NodeSelectorRequirement MatchFields[]:NodeSelectorRequirement",
  ObjectFieldSelector: "APIVersion FieldPath",
  ObjectReference: "Kind Namespace Name UID APIVersion ResourceVersion FieldPath",
  OpaqueDeviceConfiguration: "Driver Parameters*",
  PersistentVolumeClaimSpec:
    "AccessModes[] Selector*:LabelSelector Resources:VolumeResourceRequirements VolumeName StorageClassName* VolumeMode* DataSource*:TypedLocalObjectReference DataSourceRef*:TypedObjectReference VolumeAttributesClassName*",
  PersistentVolumeClaimTemplate: "ObjectMeta> Spec:PersistentVolumeClaimSpec",
  PersistentVolumeClaimVolumeSource: "ClaimName ReadOnly!",
  PersistentVolumeSource:
    "GCEPersistentDisk*:GCEPersistentDiskVolumeSource AWSElasticBlockStore*:AWSElasticBlockStoreVolumeSource HostPath*:HostPathVolumeSource Glusterfs*:GlusterfsPersistentVolumeSource NFS*:NFSVolumeSource RBD*:RBDPersistentVolumeSource Quobyte*:QuobyteVolumeSource ISCSI*:ISCSIPersistentVolumeSource FlexVolume*:FlexPersistentVolumeSource Cinder*:CinderPersistentVolumeSource CephFS=cephfs*:CephFSPersistentVolumeSource FC*:FCVolumeSource Flocker*:FlockerVolumeSource AzureFile*:AzureFilePersistentVolumeSource VsphereVolume*:VsphereVirtualDiskVolumeSource AzureDisk*:AzureDiskVolumeSource PhotonPersistentDisk*:PhotonPersistentDiskVolumeSource PortworxVolume*:PortworxVolumeSource ScaleIO*:ScaleIOPersistentVolumeSource Local*:LocalVolumeSource StorageOS=storageos*:StorageOSPersistentVolumeSource CSI*:CSIPersistentVolumeSource",
  PersistentVolumeSpec:
    "Capacity{} PersistentVolumeSource> AccessModes[] ClaimRef*:ObjectReference PersistentVolumeReclaimPolicy StorageClassName MountOptions[] VolumeMode* NodeAffinity*:VolumeNodeAffinity VolumeAttributesClassName*",
  PhotonPersistentDiskVolumeSource: "PdID FSType",
  PodAffinity:
    "RequiredDuringSchedulingIgnoredDuringExecution[]:PodAffinityTerm PreferredDuringSchedulingIgnoredDuringExecution[]:WeightedPodAffinityTerm",
  PodAffinityTerm:
    "LabelSelector*:LabelSelector Namespaces[] TopologyKey NamespaceSelector*:LabelSelector MatchLabelKeys[] MismatchLabelKeys[]",
  PodAntiAffinity:
    "RequiredDuringSchedulingIgnoredDuringExecution[]:PodAffinityTerm PreferredDuringSchedulingIgnoredDuringExecution[]:WeightedPodAffinityTerm",
  PodCertificateProjection:
    "SignerName KeyType MaxExpirationSeconds* CredentialBundlePath KeyPath CertificateChainPath UserAnnotations{}",
  PodDNSConfig: "Nameservers[] Searches[] Options[]:PodDNSConfigOption",
  PodDNSConfigOption: "Name Value*",
  PodFailurePolicy: "Rules[]:PodFailurePolicyRule",
  PodFailurePolicyOnExitCodesRequirement: "ContainerName* Operator Values[]",
  PodFailurePolicyOnPodConditionsPattern: "Type Status",
  PodFailurePolicyRule:
    "Action OnExitCodes*:PodFailurePolicyOnExitCodesRequirement OnPodConditions[]:PodFailurePolicyOnPodConditionsPattern",
  PodOS: "Name",
  PodReadinessGate: "ConditionType",
  PodResourceClaim: "Name ResourceClaimName* ResourceClaimTemplateName*",
  PodSchedulingGate: "Name",
  PodSchedulingGroup: "PodGroupName*",
  PodSecurityContext:
    "HostNetwork! HostPID! HostIPC! ShareProcessNamespace* HostUsers* SELinuxOptions*:SELinuxOptions WindowsOptions*:WindowsSecurityContextOptions RunAsUser* RunAsGroup* RunAsNonRoot* SupplementalGroups[] SupplementalGroupsPolicy* FSGroup* FSGroupChangePolicy* Sysctls[]:Sysctl SeccompProfile*:SeccompProfile AppArmorProfile*:AppArmorProfile SELinuxChangePolicy*",
  PodSpec:
    "Volumes[]:Volume InitContainers[]:Container Containers[]:Container EphemeralContainers[]:EphemeralContainer RestartPolicy TerminationGracePeriodSeconds* ActiveDeadlineSeconds* DNSPolicy NodeSelector{} ServiceAccountName AutomountServiceAccountToken* NodeName SecurityContext*:PodSecurityContext ImagePullSecrets[]:LocalObjectReference Hostname Subdomain SetHostnameAsFQDN* Affinity*:Affinity SchedulerName Tolerations[]:Toleration HostAliases[]:HostAlias PriorityClassName Priority* PreemptionPolicy* DNSConfig*:PodDNSConfig ReadinessGates[]:PodReadinessGate RuntimeClassName* Overhead{} EnableServiceLinks* TopologySpreadConstraints[]:TopologySpreadConstraint OS*:PodOS SchedulingGates[]:PodSchedulingGate ResourceClaims[]:PodResourceClaim Resources*:ResourceRequirements HostnameOverride* SchedulingGroup*:PodSchedulingGroup",
  PodTemplateSpec: "ObjectMeta> Spec:PodSpec",
  PortworxVolumeSource: "VolumeID FSType ReadOnly!",
  PreferredSchedulingTerm: "Weight# Preference:NodeSelectorTerm",
  Probe:
    "ProbeHandler> InitialDelaySeconds# TimeoutSeconds# PeriodSeconds# SuccessThreshold# FailureThreshold# TerminationGracePeriodSeconds*",
  ProbeHandler: "Exec*:ExecAction HTTPGet*:HTTPGetAction TCPSocket*:TCPSocketAction GRPC*:GRPCAction",
  ProjectedVolumeSource: "Sources[]:VolumeProjection DefaultMode*",
  QuobyteVolumeSource: "Registry Volume ReadOnly! User Group Tenant",
  RBDPersistentVolumeSource:
    "CephMonitors=monitors[] RBDImage=image FSType RBDPool=pool RadosUser=user Keyring SecretRef*:SecretReference ReadOnly!",
  RBDVolumeSource:
    "CephMonitors=monitors[] RBDImage=image FSType RBDPool=pool RadosUser=user Keyring SecretRef*:LocalObjectReference ReadOnly!",
  ResourceClaim: "Name Request",
  ResourceClaimSpec: "Devices:DeviceClaim",
  ResourceClaimTemplateSpec: "ObjectMeta> Spec:ResourceClaimSpec",
  ResourceFieldSelector: "ContainerName Resource Divisor",
  ResourceRequirements: "Limits{} Requests{} Claims[]:ResourceClaim",
  SELinuxOptions: "User Role Type Level",
  ScaleIOPersistentVolumeSource:
    "Gateway System SecretRef*:SecretReference SSLEnabled! ProtectionDomain StoragePool StorageMode VolumeName FSType ReadOnly!",
  ScaleIOVolumeSource:
    "Gateway System SecretRef*:LocalObjectReference SSLEnabled! ProtectionDomain StoragePool StorageMode VolumeName FSType ReadOnly!",
  SeccompProfile: "Type LocalhostProfile*",
  SecretEnvSource: "LocalObjectReference> Optional*",
  SecretKeySelector: "LocalObjectReference> Key Optional*",
  SecretProjection: "LocalObjectReference> Items[]:KeyToPath Optional*",
  SecretReference: "Name Namespace",
  SecretVolumeSource: "SecretName Items[]:KeyToPath DefaultMode* Optional*",
  SecurityContext:
    "Capabilities*:Capabilities Privileged* SELinuxOptions*:SELinuxOptions WindowsOptions*:WindowsSecurityContextOptions RunAsUser* RunAsGroup* RunAsNonRoot* ReadOnlyRootFilesystem* AllowPrivilegeEscalation* ProcMount* SeccompProfile*:SeccompProfile AppArmorProfile*:AppArmorProfile",
  ServiceAccountTokenProjection: "Audience ExpirationSeconds# Path",
  SleepAction: "Seconds#",
  StorageOSPersistentVolumeSource: "VolumeName VolumeNamespace FSType ReadOnly! SecretRef*:ObjectReference",
  StorageOSVolumeSource: "VolumeName VolumeNamespace FSType ReadOnly! SecretRef*:LocalObjectReference",
  SuccessPolicy: "Rules[]:SuccessPolicyRule",
  SuccessPolicyRule: "SucceededIndexes* SucceededCount*",
  Sysctl: "Name Value",
  TCPSocketAction: "Port# Host",
  Toleration: "Key Operator Value Effect TolerationSeconds*",
  TopologySpreadConstraint:
    "MaxSkew# TopologyKey WhenUnsatisfiable LabelSelector*:LabelSelector MinDomains* NodeAffinityPolicy* NodeTaintsPolicy* MatchLabelKeys[]",
  TypedLocalObjectReference: "APIGroup* Kind Name",
  TypedObjectReference: "APIGroup* Kind Name Namespace*",
  Volume: "Name VolumeSource>",
  VolumeAttachmentSource: "PersistentVolumeName* InlineVolumeSpec*:PersistentVolumeSpec",
  VolumeAttachmentSpec: "Attacher Source:VolumeAttachmentSource NodeName",
  VolumeDevice: "Name DevicePath",
  VolumeMount: "Name ReadOnly! RecursiveReadOnly* MountPath SubPath MountPropagation* SubPathExpr",
  VolumeNodeAffinity: "Required*:NodeSelector",
  VolumeProjection:
    "Secret*:SecretProjection DownwardAPI*:DownwardAPIProjection ConfigMap*:ConfigMapProjection ServiceAccountToken*:ServiceAccountTokenProjection ClusterTrustBundle*:ClusterTrustBundleProjection PodCertificate*:PodCertificateProjection",
  VolumeResourceRequirements: "Limits{} Requests{}",
  VolumeSource:
    "HostPath*:HostPathVolumeSource EmptyDir*:EmptyDirVolumeSource GCEPersistentDisk*:GCEPersistentDiskVolumeSource AWSElasticBlockStore*:AWSElasticBlockStoreVolumeSource GitRepo*:GitRepoVolumeSource Secret*:SecretVolumeSource NFS*:NFSVolumeSource ISCSI*:ISCSIVolumeSource Glusterfs*:GlusterfsVolumeSource PersistentVolumeClaim*:PersistentVolumeClaimVolumeSource RBD*:RBDVolumeSource Quobyte*:QuobyteVolumeSource FlexVolume*:FlexVolumeSource Cinder*:CinderVolumeSource CephFS=cephfs*:CephFSVolumeSource Flocker*:FlockerVolumeSource DownwardAPI*:DownwardAPIVolumeSource FC*:FCVolumeSource AzureFile*:AzureFileVolumeSource ConfigMap*:ConfigMapVolumeSource VsphereVolume*:VsphereVirtualDiskVolumeSource AzureDisk*:AzureDiskVolumeSource PhotonPersistentDisk*:PhotonPersistentDiskVolumeSource Projected*:ProjectedVolumeSource PortworxVolume*:PortworxVolumeSource ScaleIO*:ScaleIOVolumeSource StorageOS=storageos*:StorageOSVolumeSource CSI*:CSIVolumeSource Ephemeral*:EphemeralVolumeSource Image*:ImageVolumeSource",
  VsphereVirtualDiskVolumeSource: "VolumePath FSType StoragePolicyName StoragePolicyID",
  WeightedPodAffinityTerm: "Weight# PodAffinityTerm:PodAffinityTerm",
  WindowsSecurityContextOptions: "GMSACredentialSpecName* GMSACredentialSpec* RunAsUserName* HostProcess*",
};
