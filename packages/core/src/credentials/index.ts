/**
 * The credential doctor: what can be said about a pasted key, address or secret without a network call. Pure and free
 * of Node, because it runs in the widget while a person types, and again on the server before anything is stored.
 */
export { findDescriptor, toDescriptorChecksum } from './descriptor.ts'
export { examineFields, isReady, remarkOf, type FieldToExamine, type Remark, type RemarkCode } from './doctor.ts'
export { findExtendedPublicKey, type ScriptKind } from './extended-key.ts'
export { fitsShape, type KeyShape } from './doctor.ts'
export { cleanField, cleanPasted } from './paste.ts'
export { findPrivateMaterial, type PrivateMaterial } from './private-material.ts'
export { chainNames, recognizeWallet, type Recognized, type RecognizedWallet, type WalletMistake } from './wallet.ts'
