/**
 * The words of the consent page, in every language of the widget. The widget shows the result of `toConsentText`, and
 * the server stores the result for the same facts in the language that was shown, so a grant keeps what the person
 * read. This file formats dates without Intl, because a browser and a server may have different rules.
 */

export const consentLanguages = ['en', 'de', 'fr', 'es', 'pt', 'ja'] as const
export type ConsentLanguage = (typeof consentLanguages)[number]

/** Changes with every change of the words. */
export const consentVersion = '2026-11-5'

/** What a user can give an application. The order is the order on the wire. */
export const consentScopes = [
  'providers:read',
  'providers:write',
  'assets:read',
  'transactions:read',
  'offline_access',
  'claims:read',
] as const
export type ConsentScope = (typeof consentScopes)[number]

/** What the page is about. */
export interface ConsentFacts {
  app: string
  tenant: string
  scopes: readonly ConsentScope[]
  /** The user signs in by email, so the tenant sees the address, and the user can open their own page with it. */
  sharesEmail: boolean
  /** ISO 8601. */
  expiresAt: string
  /** Accounts that are connected already and will be seen too. */
  existing: readonly string[]
}

export interface ConsentSection {
  name: 'see' | 'act' | 'never' | 'until'
  title: string
  lines: string[]
}

export interface ConsentText {
  title: string
  lead: string | null
  sections: ConsentSection[]
  /** Above the list of accounts that are connected already; null when there are none. */
  existing: string | null
}

interface Words {
  title: string
  /** For an application that asks only for claims. */
  claimsTitle: string
  claimsNever: string
  claimsExisting: string
  'claims:read': string
  /** Is untrue beside balances or transactions. */
  claimsNoAmount: string
  claimsLimit: string
  claimsLimitOwnPage: string
  by: string
  see: string
  'providers:read': string
  'assets:read': string
  'transactions:read': string
  email: string
  act: string
  'providers:write': string
  never: string
  neverList: string
  until: string
  untilDate: string
  untilOwnPage: string
  offline_access: string
  existing: string
  date: (day: number, month: string, year: number) => string
  months: string
}

const words: Readonly<Record<ConsentLanguage, Words>> = {
  en: {
    title: '{app} wants to see your crypto accounts',
    claimsTitle: '{app} wants to ask about your crypto accounts',
    claimsNever: 'See what you hold: neither balances nor transactions.',
    claimsExisting: 'You have connected these before. They count too:',
    'claims:read':
      'Yes or no, signed: whether all you hold is worth at least an amount that it names, or whether you hold at least an amount of one asset.',
    claimsNoAmount: 'Not how much you hold.',
    claimsLimit: 'At most three such questions a day.',
    claimsLimitOwnPage: 'At most three such questions a day, and your own page here lists them.',
    by: '{app} is operated by {tenant}.',
    see: 'It will see',
    'providers:read': 'Which accounts you connect, and whether they are up to date.',
    'assets:read': 'Balances of the accounts you connect.',
    'transactions:read': 'Transactions of the accounts you connect, past and new.',
    email: '{tenant} learns your email address.',
    act: 'It may also',
    'providers:write':
      'Connect further accounts for you, and remove connected accounts with everything read from them.',
    never: 'It can never',
    neverList: 'Move funds, trade, or see your keys.',
    until: 'For how long',
    untilDate: 'Until {date}. End it whenever you like at {app}.',
    untilOwnPage: 'Until {date}. End it whenever you like: at {app}, or on your own page here.',
    offline_access: 'Until then it may also read while you are away.',
    existing: 'You have connected these before. {app} will see them too:',
    date: (day, month, year) => `${month} ${day}, ${year}`,
    months: 'January February March April May June July August September October November December',
  },
  de: {
    title: '{app} möchte Ihre Krypto-Konten sehen',
    claimsTitle: '{app} möchte etwas über Ihre Krypto-Konten erfahren',
    claimsNever: 'Sehen, was Sie besitzen: weder Bestände noch Transaktionen.',
    claimsExisting: 'Diese Konten haben Sie schon verbunden. Sie zählen mit:',
    'claims:read':
      'Ja oder Nein, signiert: ob alles, was Sie halten, mindestens einen genannten Betrag wert ist, oder ob Sie mindestens eine genannte Menge eines Assets halten.',
    claimsNoAmount: 'Nicht, wie viel Sie halten.',
    claimsLimit: 'Höchstens drei solche Fragen am Tag.',
    claimsLimitOwnPage: 'Höchstens drei solche Fragen am Tag; Ihre eigene Seite hier zeigt sie.',
    by: '{app} wird von {tenant} betrieben.',
    see: 'Zu sehen ist',
    'providers:read': 'Welche Konten Sie verbinden und ob sie aktuell sind.',
    'assets:read': 'Die Bestände der Konten, die Sie verbinden.',
    'transactions:read': 'Die Transaktionen der Konten, die Sie verbinden, frühere und neue.',
    email: '{tenant} erfährt Ihre E-Mail-Adresse.',
    act: 'Außerdem möglich ist',
    'providers:write':
      'Weitere Konten für Sie verbinden sowie verbundene Konten entfernen, mit allem, was daraus gelesen wurde.',
    never: 'Niemals möglich ist',
    neverList: 'Geld bewegen, handeln oder Ihre Schlüssel sehen.',
    until: 'Wie lange',
    untilDate: 'Bis {date}. Beenden können Sie es jederzeit bei {app}.',
    untilOwnPage: 'Bis {date}. Beenden können Sie es jederzeit: bei {app} oder auf Ihrer eigenen Seite hier.',
    offline_access: '{app} darf bis dahin auch lesen, während Sie nicht da sind.',
    existing: 'Diese Konten haben Sie schon verbunden. {app} sieht auch sie:',
    date: (day, month, year) => `${day}. ${month} ${year}`,
    months: 'Januar Februar März April Mai Juni Juli August September Oktober November Dezember',
  },
  fr: {
    title: '{app} souhaite voir vos comptes crypto',
    claimsTitle: '{app} souhaite poser une question sur vos comptes crypto',
    claimsNever: 'Voir ce que vous détenez : ni soldes ni transactions.',
    claimsExisting: 'Vous avez déjà connecté ces comptes. Ils comptent aussi :',
    'claims:read':
      'Oui ou non, signé : si tout ce que vous détenez vaut au moins un montant donné, ou si vous détenez au moins une quantité donnée d’un actif.',
    claimsNoAmount: 'Pas combien vous détenez.',
    claimsLimit: 'Trois questions de ce type par jour au plus.',
    claimsLimitOwnPage:
      'Trois questions de ce type par jour au plus ; votre page personnelle de ce service les affiche.',
    by: '{app} est exploité par {tenant}.',
    see: 'Ce qui sera visible',
    'providers:read': 'Quels comptes vous connectez, et s’ils sont à jour.',
    'assets:read': 'Les soldes des comptes que vous connectez.',
    'transactions:read': 'Les transactions des comptes que vous connectez, passées et à venir.',
    email: '{tenant} connaîtra votre adresse e-mail.',
    act: 'Ce qui sera aussi possible',
    'providers:write':
      'Connecter d’autres comptes pour vous, et retirer des comptes connectés avec tout ce qui y a été lu.',
    never: 'Ce qui ne sera jamais possible',
    neverList: 'Déplacer des fonds, passer des ordres ou voir vos clés.',
    until: 'Pendant combien de temps',
    untilDate: 'Jusqu’au {date}. Vous pouvez y mettre fin à tout moment chez {app}.',
    untilOwnPage:
      'Jusqu’au {date}. Vous pouvez y mettre fin à tout moment : chez {app} ou sur votre page personnelle de ce service.',
    offline_access: 'D’ici là, {app} peut aussi lire en votre absence.',
    existing: 'Vous avez déjà connecté ces comptes. {app} les verra aussi :',
    date: (day, month, year) => `${day === 1 ? '1er' : day} ${month} ${year}`,
    months: 'janvier février mars avril mai juin juillet août septembre octobre novembre décembre',
  },
  es: {
    title: '{app} quiere ver tus cuentas de criptoactivos',
    claimsTitle: '{app} quiere preguntar por tus cuentas de criptoactivos',
    claimsNever: 'Ver lo que tienes: ni saldos ni transacciones.',
    claimsExisting: 'Ya conectaste estas cuentas. También cuentan:',
    'claims:read':
      'Sí o no, firmado: si todo lo que tienes vale al menos un importe indicado, o si tienes al menos una cantidad indicada de un activo.',
    claimsNoAmount: 'No cuánto tienes.',
    claimsLimit: 'Como máximo tres preguntas así al día.',
    claimsLimitOwnPage: 'Como máximo tres preguntas así al día; tu página personal en este servicio las muestra.',
    by: '{app} está operada por {tenant}.',
    see: 'Podrá ver',
    'providers:read': 'Qué cuentas conectas y si están al día.',
    'assets:read': 'Los saldos de las cuentas que conectes.',
    'transactions:read': 'Las transacciones de las cuentas que conectes, pasadas y nuevas.',
    email: '{tenant} conocerá tu dirección de correo electrónico.',
    act: 'También podrá',
    'providers:write': 'Conectar otras cuentas por ti y quitar cuentas conectadas con todo lo que se leyó de ellas.',
    never: 'Nunca podrá',
    neverList: 'Mover fondos, operar ni ver tus claves.',
    until: 'Durante cuánto tiempo',
    untilDate: 'Hasta el {date}. Puedes ponerle fin cuando quieras en {app}.',
    untilOwnPage:
      'Hasta el {date}. Puedes ponerle fin cuando quieras: en {app} o en tu página personal en este servicio.',
    offline_access: 'Hasta entonces podrá leer también cuando no estés.',
    existing: 'Ya conectaste estas cuentas. {app} también las verá:',
    date: (day, month, year) => `${day} de ${month} de ${year}`,
    months: 'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre',
  },
  pt: {
    title: '{app} quer ver suas contas de criptoativos',
    claimsTitle: '{app} quer perguntar sobre suas contas de criptoativos',
    claimsNever: 'Ver o que você tem: nem saldos nem transações.',
    claimsExisting: 'Você já conectou estas contas. Elas também contam:',
    'claims:read':
      'Sim ou não, assinado: se tudo o que você tem vale pelo menos um valor indicado, ou se você tem pelo menos uma quantidade indicada de um ativo.',
    claimsNoAmount: 'Não quanto você tem.',
    claimsLimit: 'No máximo três perguntas assim por dia.',
    claimsLimitOwnPage: 'No máximo três perguntas assim por dia; sua página pessoal neste serviço as mostra.',
    by: '{app} é operado por {tenant}.',
    see: 'Poderá ver',
    'providers:read': 'Quais contas você conecta e se estão atualizadas.',
    'assets:read': 'Os saldos das contas que você conectar.',
    'transactions:read': 'As transações das contas que você conectar, passadas e novas.',
    email: '{tenant} verá seu endereço de e-mail.',
    act: 'Também poderá',
    'providers:write': 'Conectar outras contas por você e remover contas conectadas com tudo o que foi lido delas.',
    never: 'Nunca poderá',
    neverList: 'Mover fundos, negociar ou ver suas chaves.',
    until: 'Por quanto tempo',
    untilDate: 'Até {date}. Você pode encerrar quando quiser em {app}.',
    untilOwnPage: 'Até {date}. Você pode encerrar quando quiser: em {app} ou na sua página pessoal neste serviço.',
    offline_access: 'Até lá, poderá ler também quando você não estiver presente.',
    existing: 'Você já conectou estas contas. {app} também as verá:',
    date: (day, month, year) => `${day} de ${month} de ${year}`,
    months: 'janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro',
  },
  ja: {
    title: '{app} があなたの暗号資産口座の閲覧を求めています',
    claimsTitle: '{app} があなたの暗号資産口座についての確認を求めています',
    claimsNever: '保有内容の閲覧。残高も取引も見られません。',
    claimsExisting: 'すでに接続している口座です。これらも対象になります：',
    'claims:read':
      '署名付きの「はい」か「いいえ」：保有資産の合計が指定の金額以上か、またはある資産を指定の数量以上保有しているか。',
    claimsNoAmount: '保有額そのものは伝わりません。',
    claimsLimit: '質問は1日3件までです。',
    claimsLimitOwnPage: '質問は1日3件までで、このサービスのあなたのページに表示されます。',
    by: '{app} は {tenant} が運営しています。',
    see: '閲覧できるもの',
    'providers:read': 'どの口座を接続しているか、また最新の状態かどうか。',
    'assets:read': '接続する口座の残高。',
    'transactions:read': '接続する口座の、過去および今後の取引。',
    email: '{tenant} にあなたのメールアドレスが共有されます。',
    act: 'ほかにできること',
    'providers:write':
      'あなたのために口座を追加で接続すること。接続済みの口座の接続を解除し、読み取ったデータを削除すること。',
    never: '決してできないこと',
    neverList: '資金の移動、売買、キーの閲覧。',
    until: '期間',
    untilDate: '{date}まで。{app} でいつでも終了できます。',
    untilOwnPage: '{date}まで。{app}、またはこのサービスのあなたのページで、いつでも終了できます。',
    offline_access: 'それまでは、あなたが利用していない間も閲覧できます。',
    existing: 'すでに接続している口座です。{app} はこれらも閲覧します：',
    date: (day, month, year) => `${year}年${month}月${day}日`,
    months: '1 2 3 4 5 6 7 8 9 10 11 12',
  },
}

/** The words for a language tag such as `de-CH`; English for a language that the page does not have. */
export function toConsentLanguage(tag: string | null | undefined): ConsentLanguage {
  const primary = tag?.split('-', 1)[0]?.toLowerCase()
  return consentLanguages.find((language) => language === primary) ?? 'en'
}

/** An account in the list of those that are connected already. */
export function toAccountName(provider: string, label: string | null): string {
  return label === null ? provider : `${provider} ${label}`
}

const seen = ['assets:read', 'transactions:read', 'providers:read', 'claims:read'] as const
const rows = ['assets:read', 'transactions:read'] as const

export function toConsentText(facts: ConsentFacts, language: ConsentLanguage): ConsentText {
  const of = words[language]
  const { app, tenant, scopes, existing, sharesEmail: hasOwnPage } = facts
  // One pass, so that a name that looks like a placeholder is not filled in again.
  const values: Readonly<Record<string, string>> = { app, tenant, date: toDate(facts.expiresAt, of) }
  const fill = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
  // In this case the page must not say that the application sees the accounts.
  const isClaimsOnly = scopes.includes('claims:read') && !rows.some((scope) => scopes.includes(scope))
  const claims = [
    of['claims:read'],
    ...(isClaimsOnly ? [of.claimsNoAmount] : []),
    hasOwnPage ? of.claimsLimitOwnPage : of.claimsLimit,
  ].join(language === 'ja' ? '' : ' ')
  const see = seen
    .filter((scope) => scopes.includes(scope))
    .map((scope) => (scope === 'claims:read' ? claims : of[scope]))
  const never = isClaimsOnly ? [of.neverList, of.claimsNever] : [of.neverList]
  const act = scopes.includes('providers:write') ? [of['providers:write']] : []
  const end = hasOwnPage ? of.untilOwnPage : of.untilDate
  const until = scopes.includes('offline_access') ? [end, of.offline_access] : [end]
  const sections: ConsentSection[] = [
    { name: 'see', title: of.see, lines: facts.sharesEmail ? [...see, of.email] : see },
    { name: 'act', title: of.act, lines: act },
    { name: 'never', title: of.never, lines: never },
    { name: 'until', title: of.until, lines: until },
  ]
  return {
    title: fill(isClaimsOnly ? of.claimsTitle : of.title),
    lead: tenant === app ? null : fill(of.by),
    sections: sections.filter(({ lines }) => lines.length > 0).map((one) => ({ ...one, lines: one.lines.map(fill) })),
    existing: existing.length === 0 ? null : fill(isClaimsOnly ? of.claimsExisting : of.existing),
  }
}

/** The stored text: everything that the page says, from top to bottom. */
export function toConsentRecord(facts: ConsentFacts, language: ConsentLanguage): string {
  const { title, lead, sections, existing } = toConsentText(facts, language)
  return [
    title,
    ...(lead === null ? [] : [lead]),
    ...sections.flatMap((section) => [section.title, ...section.lines]),
    ...(existing === null ? [] : [existing, ...facts.existing]),
  ].join('\n')
}

/** In UTC, as times are everywhere. */
function toDate(iso: string, { date, months }: Words): string {
  const at = new Date(iso)
  return date(at.getUTCDate(), months.split(' ')[at.getUTCMonth()] ?? '', at.getUTCFullYear())
}
