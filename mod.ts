/**
 * Version control for datasets that live in several systems at once.
 *
 * A dataset is a folder in a git repository in which each object, a store or table or folder of files, has a small manifest.
 * A commit records each object's exact state and pins it with a native ref; a bookmark gets a writable branch in each
 * system. tether carries no data: it hands out native addresses.
 *
 * Importing this module loads no driver; each loads when an object of its kind is first used.
 *
 * @example Compute what a pin of a state is called
 * ```ts
 * import { computePinId, refForPin } from "@tether/tether";
 * import assert from "node:assert/strict";
 *
 * const id = computePinId("0a1b2c3d", {
 *   kind: "lance",
 *   identity: { uri: "/data/f.lance" },
 *   content: { branch: "main", version: 7 },
 * });
 * assert.equal(refForPin(id), "tether.0a1b2c3d.2ef86ad1bc61fed0");
 * ```
 *
 * @module
 */

export { Dataset, type DatasetOptions, type DropOptions, type VerifyRun } from "./engine/dataset.ts";
export type { AppliedReport, DatasetPlans } from "./engine/dataset_plans.ts";
export type { AbandonOptions, AbandonReport } from "./engine/commands/abandon.ts";
export type { AddOptions } from "./engine/commands/add.ts";
export { listBackends } from "./engine/commands/backends.ts";
export type { CommitOptions } from "./engine/commands/commit.ts";
export type { CommitPlanOptions } from "./engine/commands/commit_plan.ts";
export type { DropRequest } from "./engine/commands/drop_plan.ts";
export type { ForgetReport } from "./engine/commands/forget.ts";
export type { GcRequest, StoreName } from "./engine/commands/gc_input.ts";
export type { CommitObjects } from "./engine/commands/history_objects.ts";
export type { LogOptions } from "./engine/commands/log.ts";
export type { NewOptions } from "./engine/commands/new.ts";
export type { NewRequest } from "./engine/commands/new_target.ts";
export type { OpenedFacts, OpenedHandle, OpenObjectOptions } from "./engine/commands/open.ts";
export type { PermissionsReport } from "./engine/commands/permissions.ts";
export type { PromoteRequest } from "./engine/commands/promote_plan.ts";
export type { PullOptions } from "./engine/commands/pull.ts";
export type { RecoveredDataset, RecoveredObject, RecoverReport } from "./engine/commands/recover.ts";
export type { RepairRequest } from "./engine/commands/repair.ts";
export type { RestoreRequest } from "./engine/commands/restore_plan.ts";
export type { StatusOptions } from "./engine/commands/status.ts";
export type { UndoOptions } from "./engine/commands/undo.ts";
export type { UpgradeOptions, UpgradeReport } from "./engine/commands/upgrade.ts";
export type { VerifyOptions } from "./engine/commands/verify.ts";
export { type EngineEnv, REAL_ENV } from "./engine/env.ts";
export type { DatasetConfig } from "./engine/files/config.ts";
export type { CreatedStore, TouchedStore } from "./engine/files/indexes.ts";
export type { SnapshotError, WorkspaceState } from "./engine/files/workspace.ts";
export type {
  AddReport,
  BackendReport,
  BackendsReport,
  FieldChange,
  RemoveReport,
  SetReport,
} from "./engine/reports/registering.ts";
export type { CallOptions, Progress, Report } from "./engine/reports/report.ts";
export type { CloseReport, DropReport, GcReport, RepairReport } from "./engine/reports/releasing.ts";
export type {
  CommitReport,
  NewReport,
  PromoteReport,
  PullReport,
  RestoreReport,
  UndoReport,
} from "./engine/reports/moving.ts";
export type {
  DiffEntry,
  DiffReport,
  LogEntry,
  LogReport,
  ObjectStatus,
  OpReport,
  OpsReport,
  SnapshotReport,
  StatusLabel,
  StatusReport,
  VcsDrift,
  VerifyEntry,
  VerifyReport,
} from "./engine/reports/reading.ts";
export {
  type Action,
  Plan,
  type PlanCommand,
  type PlanData,
  type PlanJson,
  type Precondition,
} from "./engine/plan/plan.ts";
export { VERSION } from "./engine/version.ts";

export { Float, type Json, type JsonObject, parseJson, writeJson, type WriteJsonOptions } from "./engine/model/json.ts";
export { computePinId, listingName, type StateAddress } from "./engine/model/hash.ts";
export {
  contentState,
  DEFAULT_POLICY,
  type Locator,
  manifestHash,
  type ObjectManifest,
  type Pin,
  type Policy,
  type State,
} from "./engine/model/manifest.ts";
export type { StateField, StateForm } from "./engine/model/state_form.ts";
export {
  parsePinRef,
  parseWorkingRef,
  type PinName,
  refForPin,
  workingRefBookmark,
  type WorkingRefName,
  workingRefName,
} from "./engine/model/names.ts";
export {
  BackendError,
  type BackendErrorCode,
  type BackendErrorOptions,
  CapabilityError,
  CommitStateUnknownError,
  ConcurrentChangeError,
  CredentialsError,
  InvalidLocatorError,
  MergeConflict,
  PermissionDeniedError,
  RefConflictError,
  RefMovedError,
  SandboxError,
  StateGoneError,
  StoreNotFoundError,
  UnavailableError,
} from "./engine/model/backend_errors.ts";
export {
  ConfigError,
  type ErrorOptions,
  ImmutableObjectModifiedError,
  LockError,
  PinDriftError,
  StalePlanError,
  StaleWorkingCopyError,
  TetherError,
  UnpinnedStateError,
  VcsError,
} from "./engine/model/errors.ts";
export { MultiObjectError } from "./engine/model/multi_object_error.ts";

export {
  ABSENT,
  type Access,
  type BackendSettings,
  type BackendStatics,
  CAPABILITIES,
  type Capabilities,
  type Capability,
  type Change,
  checkExpected,
  type Expected,
  type Handle,
  type HandleJson,
  type HistoryEntry,
  MAX_DIFF_ENTRIES,
  type ObjectBackend,
  type ObjectDiff,
  type Op,
  type Parts,
  type PermissionNeeds,
  type Retention,
  type SecretRule,
  type Source,
  type Target,
  type Tier,
  tierOf,
  type Verdict,
} from "./backends/backend.ts";
export type { DeltaFile, DeltaHandle } from "./backends/delta/handle.ts";
export type { IcechunkHandle, IcechunkSession } from "./backends/icechunk/handle.ts";
export type { LanceHandle, LanceTable } from "./backends/lance/handle.ts";
export type { MemoryHandle } from "./backends/memory/handle.ts";
export type { MemorySnapshot } from "./backends/memory/store.ts";
export { knownKinds } from "./backends/catalog.ts";
export { type BackendSource, registerBackend } from "./engine/host/register.ts";
export { detectVcs } from "./vcs/detect.ts";
export type {
  Abandonment,
  AbsentCheckout,
  Blocked,
  Checkout,
  CommitInfo,
  CommitRequest,
  Completeness,
  HistoryCommit,
  Location,
  ObjectReader,
  Position,
  Rewrites,
  StagedBlob,
  TreeEntry,
  VcsAdapter,
  VcsOptions,
} from "./vcs/adapter.ts";
