/**
 * What providers mean by their codes, as data: one table for each provider, and dates where a code changed its meaning.
 * Nothing is ever matched by ticker alone, because other services lost money that way: a code counts only if it is
 * listed here, and stays scoped to its provider otherwise.
 *
 * Sources. Kraken: its public list of assets and support.kraken.com, "Explanation of Asset Codes"; its LUNA is what
 * others call LUNC, and its LUNA2 is their LUNA. Coinbase: written from general knowledge of its listings and not yet
 * checked against api.coinbase.com, /v2/currencies/crypto; CGLD is from ccxt's commonCurrencies, and ETH2 is its code
 * for staked ether. Binance: its public list of assets and its announcements of renamed coins (LUNA became LUNC, and a
 * new LUNA began, on 31 May 2022; BCC and BCHABC are Bitcoin Cash; XRB and XNO are Nano; BTTC is BitTorrent after its
 * redenomination; RONIN is what others call RON, its RON is the Romanian leu). Hyperliquid: the names and numbers of its
 * spotMeta, because anyone can list a coin under any name there; its app calls UBTC, UETH and USOL, which Unit pays out
 * as the coins themselves, BTC, ETH and SOL. ccxt: the codes that ccxt unifies over all exchanges, restricted to
 * currencies and to coins so large that no exchange uses their code for anything else.
 */
import { curatedAssets } from './known-assets.ts'

interface AssetCodeMeaning {
  assetId: string
  /** Epoch ms, included; the code meant something else before. */
  fromMs: number
  /** Epoch ms, excluded. */
  untilMs: number
}

interface ProviderAssetCodes {
  /** Codes that are the curated asset's own symbol. */
  same: string
  /** `CODE:SYMBOL`, and `CODE:SYMBOL<2024-09-04` or `CODE:SYMBOL>2024-09-04` for a meaning that ended or began then. */
  other: string
  /** Tokenised shares: kept under the provider's own code, as shares. */
  shares?: RegExp
}

const providers: Readonly<Record<string, ProviderAssetCodes>> = {
  kraken: {
    same:
      'ETH ETC USDT USDC DAI PYUSD TUSD XRP SOL BNB SHIB PEPE WIF BONK ADA TRX AVAX DOT KSM LINK LTC BCH XLM XMR ZEC DASH ' +
      'XTZ ATOM OSMO TIA INJ SEI SUI APT NEAR ICP FIL ALGO HBAR EOS FLOW MINA TON KAS TAO POL MATIC ARB OP STRK IMX UNI ' +
      'AAVE MKR COMP CRV SNX LDO SUSHI YFI 1INCH GRT ENS BAT RENDER FET SAND MANA AXS APE CHZ JUP PYTH ONDO ENA PAXG WBTC ' +
      'ETHW QTUM KAVA USD EUR GBP CAD JPY CHF AUD AED KRW MXN ARS BRL ' +
      'ACA ACH ACX ADX AERO AEVO AGLD AIR AKT ALCX ALICE ALPHA ALT ANKR ANT API3 ARKM ARPA ASTR ATLAS AUCTION AUDIO AXL ' +
      'BADGER BAL BAND BEAM BERA BICO BLUR BLZ BNC BNT BOBA BOME BOND BRETT BTT C98 CELR CFG CHR COTI COW CPOOL CQT CTSI ' +
      'CVC CVX CXT CYBER DENT DRIFT DYDX DYM EGLD EIGEN ENJ ETHFI EUL EURC EURT EWT FARM FARTCOIN FIDA FIS FLOKI FLR FORTH ' +
      'FTM FXS GAL GALA GARI GHST GLMR GMT GMX GNO GRASS GST GTC HDX HFT HNT HONEY HYPE ICX IDEX INTR IO IP JASMY JTO JUNO ' +
      'KAITO KAR KEEP KEY KIN KINT KMNO KNC KP3R LAYER LCX LMWR LPT LQTY LRC LSK MASK MC METIS MEW MIR MLN MNGO MNT MOG ' +
      'MOON MORPHO MOVE MOVR MSOL MULTI MV MXC NANO NMR NODL NOS NTRN NYM OCEAN OGN OMG ORCA OXT OXY PENGU PERP PHA POLIS ' +
      'POLS POND POPCAT PORTAL POWR PRCL PRIME PSTAKE QNT RAD RARE RARI RAY RBC REN REQ RLC RON ROOK RPL RUNE S SAFE SAGA ' +
      'SAI SAMO SBR SC SCRT SDN SGB SPELL SPX SRM SSV STEP STG STORJ STRD STX SUPER SYN T TBTC TEER TLM TNSR TOKE TRAC TRU ' +
      'TRUMP TURBO TVK UMA UNFI USDD USDE USDG USDS UST VIRTUAL W WAXL WEN WIN WOO XCN XRT YGG ZETA ZK ZRO ZRX USDT0 HYPER SYRUP A',
    other: 'XBT:BTC XDG:DOGE LUNA:LUNC LUNA2:LUNA REPV2:REP',
    shares: /^[A-Z0-9]{1,8}(?:\.[A-Z])?x$/,
  },
  binance: {
    same:
      'BTC ETH ETC USDT USDC DAI PYUSD TUSD XRP SOL BNB DOGE SHIB PEPE WIF BONK ADA TRX AVAX DOT KSM LINK LTC BCH XLM XMR ZEC ' +
      'DASH XTZ ATOM OSMO TIA INJ SEI SUI APT NEAR ICP FIL ALGO HBAR EOS FLOW MINA TON TAO LUNC POL MATIC ARB OP STRK IMX UNI ' +
      'AAVE MKR COMP CRV SNX LDO SUSHI YFI 1INCH GRT ENS BAT RENDER FET SAND MANA AXS APE CHZ JUP PYTH ONDO ENA PAXG WBTC REP ' +
      'QTUM KAVA ACA ACH ACX ADX AEVO AGLD ALCX ALICE ALPHA ALT ANKR ANT API3 ARKM ARPA ASTR AUCTION AUDIO AXL BADGER BAL BAND ' +
      'BERA BICO BLUR BLZ BNT BOME BOND BTG C98 CAKE CELO CELR CHR COTI COW CTSI CVC CVX CYBER DENT DYDX DYM EGLD EIGEN ENJ ' +
      'ETHFI FARM FIDA FIS FLOKI FLR FORTH FTM FXS GAL GALA GAS GHST GLM GLMR GMT GMX GNO GTC HFT ICX IDEX IO IOTA JASMY ' +
      'JTO KAITO KEEP KEY KMNO KNC KP3R LAYER LPT LQTY LRC LSK MASK METIS MLN MOVE MOVR MULTI NANO NEO NMR NTRN OCEAN OGN OMG ' +
      'ORCA OXT PENDLE PENGU PERP PHA POLS POND PORTAL POWR QNT RAD RARE RAY REN REQ RLC ROSE RPL RUNE S SAGA SC SCRT SGB ' +
      'SPELL SRM SSV STG STORJ STX SUPER SYN T THETA TLM TNSR TRU TRUMP TURBO TVK UMA UNFI USDE VET VIRTUAL W WAXL WIN WOO YGG ' +
      'ZK ZRO ZRX EUR GBP AUD BRL TRY UAH ZAR PLN ARS JPY MXN CZK NGN IDR USD',
    other:
      'LUNA:LUNC<2022-05-31 LUNA:LUNA>2022-05-31 BCC:BCH BCHABC:BCH BCHSV:BSV XRB:NANO XNO:NANO UST:UST<2022-05-31 USTC:UST ' +
      'RNDR:RENDER BTTC:BTT RONIN:RON A:A>2025-05-01',
  },
  coinbase: {
    same:
      'BTC ETH ETC USDT USDC DAI PYUSD XRP SOL BNB DOGE SHIB PEPE WIF BONK ADA AVAX DOT KSM LINK LTC BCH XLM ZEC DASH ' +
      'XTZ ATOM OSMO TIA INJ SEI SUI APT NEAR ICP FIL ALGO HBAR EOS FLOW MINA TAO POL MATIC ARB OP STRK IMX UNI AAVE ' +
      'MKR COMP CRV SNX LDO SUSHI YFI 1INCH GRT ENS BAT RENDER FET SAND MANA AXS APE CHZ JTO PYTH ONDO ENA PAXG WBTC ' +
      'KAVA ACH AERO AGLD ALCX ALICE ANKR API3 ARKM ARPA ASTR AUCTION AUDIO AXL BADGER BAL BAND BICO BLUR BLZ BNT BOBA ' +
      'C98 COTI COW CTSI CVC CVX DYDX EIGEN ENJ ETHFI EURC FARM FIDA FIS FLOKI FLR FORTH GHST GMT GNO GTC HFT HNT HONEY ' +
      'ICX IDEX IO JASMY KNC LCX LPT LQTY LRC LSK MASK METIS MLN MORPHO MSOL NMR OCEAN OGN OMG ORCA OXT PERP POLS POND ' +
      'POWR PRIME QNT RAD RARE RARI REN REQ RLC ROSE RPL SAFE SPELL STG STORJ STX SUPER SYN T TNSR TRAC TRU TURBO UMA ' +
      'VET WAXL XCN ZETA ZK ZRO ZRX USD EUR GBP CAD JPY CHF AUD BRL MXN AED KRW ARS',
    other: 'ETH2:ETH CGLD:CELO',
  },
  hyperliquid: {
    same: '',
    other: 'USDC#0:USDC HYPE#150:HYPE UBTC#197:BTC UETH#221:ETH USDE#235:USDE USOL#254:SOL USDT0#268:USDT0',
  },
  ccxt: {
    same:
      'BTC ETH USDT USDC XRP SOL BNB DOGE ADA TRX AVAX DOT LINK LTC BCH XLM XMR ZEC DASH XTZ ATOM ETC SHIB UNI AAVE NEAR ICP ' +
      'FIL ALGO HBAR EOS TON POL MATIC ARB OP SUI APT INJ PEPE DAI PYUSD PAXG WBTC MKR COMP CRV SNX LDO GRT SAND MANA AXS CHZ ' +
      'VET EGLD THETA FTM RUNE IOTA NEO KSM ENS BAT ZRX QTUM KAVA IMX ' +
      'USD EUR GBP CAD JPY CHF AUD BRL MXN KRW TRY ARS AED UAH ZAR PLN IDR CZK NGN',
    other: '',
  },
}

const bySymbol = new Map(curatedAssets.map((asset) => [asset.symbol, asset.assetId]))
const tables = new Map(Object.entries(providers).map(([providerId, codes]) => [providerId, toTable(codes)]))

/** The asset that the provider's code meant at that time; undefined when the code is not listed. */
export function findMeaning(providerId: string, assetCode: string, atMs: number): string | undefined {
  const meanings = tables.get(providerId)?.get(assetCode)
  return meanings?.find(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs)?.assetId
}

export function isShareAssetCode(providerId: string, code: string): boolean {
  return Object.hasOwn(providers, providerId) && providers[providerId]?.shares?.test(code) === true
}

/** For tests: the same rules for a table of their own. */
export function toTable({ same, other }: ProviderAssetCodes): Map<string, AssetCodeMeaning[]> {
  const table = new Map<string, AssetCodeMeaning[]>()
  for (const entry of [...words(same).map((code) => `${code}:${code}`), ...words(other)]) {
    const [, code = '', symbol = '', edge, day] = /^([^:]+):([^<>]+)(?:([<>])(.+))?$/.exec(entry) ?? []
    const assetId = bySymbol.get(symbol)
    if (assetId === undefined) throw new Error(`the code table names ${symbol}, which is not a curated asset: ${entry}`)
    const fromMs = edge === '>' ? Date.parse(day ?? '') : -Infinity
    const untilMs = edge === '<' ? Date.parse(day ?? '') : Infinity
    table.set(code, [...(table.get(code) ?? []), { assetId, fromMs, untilMs }])
  }
  return table
}

function words(text: string): string[] {
  return text.split(' ').filter((word) => word !== '')
}
