/**
 * The credential doctor: what can be said about a pasted key, address or secret without asking anybody. Pure and free
 * of Node, because it runs in the widget while a person types, and again on the server before anything is stored.
 */
export { examineFields, isReady, type FieldToExamine, type Remark, type RemarkCode } from './doctor.ts'
export { fitsShape, type KeyShape } from './key-shapes.ts'
export { cleanField, cleanPasted } from './paste.ts'
export { findPrivateMaterial, type PrivateMaterial } from './private-material.ts'
export { recognizeWallet, type RecognizedWallet, type WalletMistake } from './wallet.ts'
