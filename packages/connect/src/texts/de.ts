/** Deutsch. */
import type { TextKey } from './en.ts'
import type { Text } from './text.ts'

export const de: Readonly<Record<TextKey, Text>> = {
  'common.back': 'Zurück',
  'common.not_now': 'Nicht jetzt',
  'common.continue': 'Weiter',
  'common.try_again': 'Erneut versuchen',
  'common.close': 'Fenster schließen',
  'common.return': 'Zurück zu {app}',
  'common.loading': 'Einen Moment',
  'common.request': 'Wenn Sie um Hilfe bitten, nennen Sie diese Nummer: {id}',

  'consent.agree': 'Weiter',
  'consent.agree_existing': 'Ja, auch diese teilen',

  'sign_in.title': 'Zuerst: Wer sind Sie?',
  'sign_in.requested_by': 'Angefragt von {app}',
  'sign_in.lead': 'Wir senden einen sechsstelligen Code an Ihre E-Mail-Adresse. Sie brauchen kein Passwort.',
  'sign_in.repair_refused':
    'Das Konto, das repariert werden soll, wurde mit einer anderen E-Mail-Adresse verbunden. Melden Sie sich dafür mit jener Adresse an.',
  'sign_in.repair_refused_user': 'Das Konto, das repariert werden soll, gehört einer anderen Person bei {app}.',
  'sign_in.repair_lead':
    'Verwenden Sie die E-Mail-Adresse, mit der Sie dieses Konto verbunden haben. Wir senden einen sechsstelligen Code dorthin.',
  'sign_in.email': 'E-Mail-Adresse',
  'sign_in.email_wrong': 'Geben Sie eine Adresse wie name@example.com ein.',
  'sign_in.send': 'Code per E-Mail senden',
  'sign_in.code_title': 'Geben Sie die sechs Ziffern ein',
  'sign_in.code_lead': 'Die Ziffern sind unterwegs an {email} und gelten zehn Minuten.',
  'sign_in.code': 'Sechs Ziffern aus der E-Mail',
  'sign_in.code_wrong': {
    one: 'Diese Ziffern stimmen nicht. Noch {count} Versuch.',
    other: 'Diese Ziffern stimmen nicht. Noch {count} Versuche.',
  },
  'sign_in.code_wrong_plain':
    'Diese Ziffern stimmen nicht. Sehen Sie noch einmal nach, oder lassen Sie sich neue senden.',
  'sign_in.code_spent': 'Diese Ziffern gelten nicht mehr. Lassen Sie sich neue senden.',
  'sign_in.address_mismatch':
    'Die Ziffern stimmen, aber dieses Konto wurde nicht mit dieser Adresse bestätigt. Verwenden Sie die Adresse, die Sie zuerst bestätigt haben. Wenn Sie nie eine bestätigt haben, bitten Sie die Anwendung, Ihre verbundenen Konten zu entfernen.',
  'sign_in.resend': 'Noch einmal senden',
  'sign_in.resend_in': 'Noch einmal senden in {count} s',
  'sign_in.other_email': 'Andere Adresse verwenden',
  'sign_in.too_many': {
    one: 'Zu viele Versuche. Versuchen Sie es in {count} Minute erneut.',
    other: 'Zu viele Versuche. Versuchen Sie es in {count} Minuten erneut.',
  },
  'sign_in.off_title': 'Beginnen Sie bei {app}',
  'sign_in.off':
    'Auf dieser Seite können Sie sich nicht direkt anmelden. Gehen Sie zurück zu {app}, melden Sie sich dort an und beginnen Sie von vorn.',

  'sandbox.mail': 'Sandbox: In der E-Mail steht {code}',
  'sandbox.fill': 'Ausfüllen',
  'sandbox.keys': 'Sandbox: einen Testschlüssel verwenden',
  'sandbox.wallets': 'Sandbox: eine Test-Wallet verwenden',
  'sandbox.keys_lead': 'Nichts hier ist echt. Wählen Sie, was geschehen soll.',
  'sandbox.same_account': 'Ein neuer Schlüssel desselben Kontos',
  'sandbox.same_account_lead': 'Repariert diese Verbindung. Die Schlüssel darunter gehören zu anderen Konten.',

  'choose.title': 'Wo liegen Ihre Assets?',
  'choose.search': 'Suchen oder Wallet-Adresse einfügen',
  'choose.all': 'Alle',
  'choose.exchanges': 'Börsen',
  'choose.wallets': 'Wallets',
  'choose.kinds': 'Anzeigen',
  'choose.popular': 'Beliebt',
  'choose.rest': 'A bis Z',
  'choose.found': { other: '{count} gefunden' },
  'choose.none': 'Nichts gefunden zu „{query}“',
  'choose.none_help':
    'Prüfen Sie die Schreibweise, versuchen Sie den Namen der Firma, oder fügen Sie die Adresse einer Wallet ein.',
  'choose.wallet': 'Diese {chain}-Wallet verbinden',
  'choose.wallet_unavailable': '{chain}-Wallets lassen sich hier noch nicht verbinden.',
  'choose.unavailable': 'Zurzeit nicht verfügbar',
  'choose.not_in_sandbox': 'Nicht in der Sandbox',
  'choose.unfinished': {
    one: 'Sie haben am {date} begonnen und {count} Konto verbunden. Dort weitermachen?',
    other: 'Sie haben am {date} begonnen und {count} Konten verbunden. Dort weitermachen?',
  },
  'choose.resume': 'Dort weitermachen',
  'choose.done': 'Ich habe alles verbunden',
  'choose.finish_existing': 'Nur teilen, was schon verbunden ist',
  'choose.failed': 'Die Liste der Anbieter konnte nicht geladen werden.',

  'credentials.title': '{provider} verbinden',
  'credentials.repair': '{provider} reparieren',
  'credentials.repair_lead':
    'Erstellen Sie einen neuen Nur-Lese-Schlüssel für dasselbe Konto. Was bereits gelesen wurde, bleibt erhalten.',
  'credentials.steps': 'Einen Nur-Lese-Schlüssel erstellen',
  'credentials.step_open':
    'Melden Sie sich bei {provider} an und öffnen Sie die Seite, auf der API-Schlüssel erstellt werden.',
  'credentials.step_tick': 'Erstellen Sie einen Schlüssel, der nur lesen darf. Kreuzen Sie an:',
  'credentials.step_tick_plain':
    'Erstellen Sie einen Schlüssel, der nur lesen darf: Kreuzen Sie an, was mit Lesen, Ansehen oder Abfragen zu tun hat.',
  'credentials.step_leave': 'Lassen Sie alles andere ohne Häkchen, vor allem Handeln und Auszahlen.',
  'credentials.step_copy': 'Kopieren Sie, was {provider} Ihnen zeigt, in die Felder hier.',
  'credentials.guide_open': 'Wählen Sie bei {provider} {menu}.',
  'credentials.guide_tick': 'Kreuzen Sie nur diese an:',
  'credentials.guide_leave': 'Lassen Sie diese ohne Häkchen: {items}.',
  'credentials.guide_copy':
    'Kopieren Sie alles hierher, bevor Sie die Seite dort schließen: „{field}“ wird nur einmal angezeigt.',
  'credentials.website': '{provider} öffnen',
  'credentials.optional': 'optional',
  'credentials.show': 'Anzeigen',
  'credentials.hide': 'Verbergen',
  'credentials.connect': 'Verbinden',
  'credentials.connect_repair': 'Reparieren',
  'credentials.promise': 'Bevor wir den Schlüssel speichern, prüfen wir bei {provider}, ob er nur lesen kann.',
  'credentials.confirm': '{provider} gibt nicht an, was ein Schlüssel darf. Mein Schlüssel kann nur lesen.',
  'credentials.promise_unchecked':
    '{provider} kann uns nicht sagen, ob der Schlüssel nur lesen kann. Wir verlassen uns auf Sie.',
  'credentials.find': 'Wo finde ich das?',
  'credentials.find_address': '{app}: {menu} wählen und die Adresse kopieren.',
  'credentials.find_extended_key': '{app}: {menu} wählen und den erweiterten öffentlichen Schlüssel kopieren.',
  'credentials.promise_wallet': 'Damit können wir nur lesen. Bewegen lässt sich damit nichts.',
  'credentials.sign_in_at': 'Bei {provider} anmelden',
  'credentials.use_key': 'Stattdessen einen API-Schlüssel verwenden',
  'credentials.sign_in_lead': '{provider} fragt Sie, was gelesen werden darf, und bringt Sie hierher zurück.',

  'label.address': 'Adresse',
  'label.any_wallet': 'Adresse, erweiterter öffentlicher Schlüssel oder Deskriptor',

  'hint.create': 'Erstellen Sie ihn bei {provider}, nur mit dem Recht zu lesen.',
  'hint.private_half':
    'Die private Hälfte des Schlüsselpaars, dessen öffentliche Hälfte Sie {provider} gegeben haben. Fügen Sie alles ein, von -----BEGIN bis zum Ende.',
  'hint.often_once': 'Die meisten Börsen zeigen ihn nur einmal.',
  'hint.passphrase': 'Die Passphrase, die Sie für diesen Schlüssel gewählt haben, nicht Ihr Anmeldepasswort.',
  'hint.beside': 'Steht neben dem Schlüssel.',
  'hint.account_address': 'Die öffentliche Adresse Ihres Kontos bei {provider}.',
  'hint.settings_56': '{provider}: Settings, API, Create API key. 56 Zeichen.',
  'hint.once_88': 'Wird einmal gezeigt, gleich nachdem Sie den Schlüssel erstellt haben. 88 Zeichen, mit == am Ende.',
  'hint.generated_64':
    '{provider}: Account, API Management, Create API, System generated. 64 Zeichen. Schlüssel von {provider}.US funktionieren hier nicht.',
  'hint.once_64': 'Wird einmal gezeigt, gleich nachdem der Schlüssel erstellt wurde. 64 Zeichen.',
  'hint.key_or_path':
    'organizations/…/apiKeys/… oder nur die Key ID. Alte Schlüssel mit 16 Zeichen funktionieren nicht mehr.',
  'hint.once_whole':
    'Wird einmal gezeigt. Fügen Sie alles ein, von -----BEGIN bis zum Ende; ein Ed25519-Schlüssel ist eine Zeile, die mit == endet.',
  'hint.address_or_wallet':
    'Eine Adresse zeigt nur sich selbst. Ein erweiterter öffentlicher Schlüssel (xpub, ypub, zpub) oder ein Deskriptor zeigt die ganze Wallet.',
  'hint.extended_key': 'In den Einstellungen Ihrer Wallet als xpub, ypub, zpub oder „account public key“.',
  'hint.descriptor': 'wpkh(…), sh(wpkh(…)), pkh(…) oder tr(…) mit einem erweiterten öffentlichen Schlüssel.',
  'hint.address_0x':
    'Die Adresse Ihrer Wallet: 0x und 40 weitere Zeichen. Niemals Wiederherstellungswörter oder ein privater Schlüssel.',
  'hint.address_base58':
    'Die Adresse Ihrer Wallet: 43 oder 44 Buchstaben und Ziffern. Niemals Wiederherstellungswörter oder ein privater Schlüssel.',

  'doctor.looks_right': 'Sieht richtig aus',
  'doctor.swapped': 'Die beiden sind vertauscht: Das gehört in das andere Feld.',
  'doctor.swap': 'Tauschen',
  'doctor.same_twice': 'In beiden Feldern steht dasselbe. Kopieren Sie das andere noch einmal.',
  'doctor.foreign_character': '„{got}“ kommt in keinem Schlüssel von {provider} vor. Kopieren Sie ihn noch einmal.',
  'doctor.too_short': 'Zu kurz: {got} von {expected} Zeichen. Kopieren Sie alles.',
  'doctor.too_long': 'Zu lang: {got} Zeichen, erwartet sind {expected}. Kopieren Sie nur den Schlüssel.',
  'doctor.wrong_shape': 'So etwas gibt {provider} hier nicht aus. Kopieren Sie es noch einmal.',
  'doctor.broken_pem': 'Ein Teil fehlt. Kopieren Sie alles von BEGIN bis END, einschließlich dieser beiden Zeilen.',
  'doctor.wrong_checksum': 'Ein Zeichen ist falsch. Kopieren Sie die Adresse noch einmal.',
  'doctor.test_network': 'Das gehört zu einem Testnetz. Verwenden Sie eine Adresse mit echtem Guthaben.',
  'doctor.no_wallet': 'Wir erkennen diese Adresse nicht. Kopieren Sie sie noch einmal aus Ihrer Wallet.',
  'doctor.unsupported_script':
    'Wallets mit mehreren Schlüsseln oder Bedingungen können wir noch nicht lesen. Fügen Sie stattdessen eine einzelne Adresse ein.',
  'doctor.wallet_name':
    'Das ist ein Name, keine Adresse. Öffnen Sie Ihre Wallet und kopieren Sie die Adresse, für die der Name steht.',
  'doctor.other_chain':
    'Das gehört zu {got}. Wählen Sie {got} als Anbieter oder fügen Sie eine {provider}-Adresse ein.',
  'doctor.is_address':
    'Das ist eine {got}-Adresse. Wir lesen ihren Bestand und ihre Transaktionen. Ausgeben lässt sich damit nichts.',
  'doctor.is_extended_public_key':
    'Das ist ein erweiterter öffentlicher Schlüssel für {got}. Wir lesen Bestand und Transaktionen der ganzen Wallet. Ausgeben lässt sich damit nichts.',
  'doctor.is_descriptor':
    'Das ist ein Deskriptor für {got}. Wir lesen Bestand und Transaktionen der ganzen Wallet. Ausgeben lässt sich damit nichts.',
  'doctor.seed_phrase':
    'Das sind Ihre Wiederherstellungswörter. Geben Sie sie nirgends ein. Sie haben diese Seite nicht verlassen: Leeren Sie das Feld.',
  'doctor.private_key':
    'Das ist ein privater Schlüssel, der vollen Zugriff auf Ihr Vermögen gibt. Er hat diese Seite nicht verlassen: Leeren Sie das Feld.',
  'doctor.private_key_or_hash':
    'Das ist ein privater Schlüssel oder eine Transaktions-ID. Beides ist keine Adresse. Der Text hat diese Seite nicht verlassen: Leeren Sie das Feld.',
  'doctor.extended_private_key':
    'Das ist ein erweiterter privater Schlüssel, der vollen Zugriff auf Ihr Vermögen gibt. Er hat diese Seite nicht verlassen: Leeren Sie das Feld.',

  'checking.title': '{provider} wird verbunden',
  'checking.key': 'Schlüssel angenommen',
  'checking.key_now': 'Der Schlüssel wird bei {provider} geprüft',
  'checking.access': 'Mit {provider} verbunden',
  'checking.access_now': '{provider} wird angefragt',
  'checking.address': 'Adresse gefunden',
  'checking.readonly': 'Nur-Lese-Zugriff bestätigt',
  'checking.readonly_now': 'Nur-Lese-Zugriff wird geprüft',
  'checking.balances': { one: 'Bestände: {count} Asset', other: 'Bestände: {count} Assets' },
  'checking.balances_now': 'Bestände werden gelesen',
  'checking.history_now': 'Ihr Verlauf wird gelesen',
  'checking.history_some': {
    one: 'Verlauf: zurück bis {date}, bisher {count} Eintrag',
    other: 'Verlauf: zurück bis {date}, bisher {count} Einträge',
  },
  'checking.history': {
    one: 'Verlauf: zurück bis {date}, {count} Transaktion',
    other: 'Verlauf: zurück bis {date}, {count} Transaktionen',
  },
  'checking.history_none': 'Verlauf: noch keine Transaktionen',
  'checking.background': 'Sie müssen nicht warten. Wir machen im Hintergrund weiter.',
  'checking.slow': '{provider} antwortet langsam. Wir versuchen es weiter.',

  'connected.title': 'Verbunden',
  'connected.title_many': { one: '{count} Konto verbunden', other: '{count} Konten verbunden' },
  'connected.found': { one: '{count} Asset', other: '{count} Assets' },
  'connected.transactions': {
    one: '{count} Transaktion seit {date}',
    other: '{count} Transaktionen seit {date}',
  },
  'connected.reading': 'der Verlauf wird noch gelesen',
  'connected.so_far': { one: 'bisher {count} Eintrag', other: 'bisher {count} Einträge' },
  'connected.empty': 'Ein leeres Konto: noch keine Assets und keine Transaktionen.',
  'connected.worth': 'etwa {value}',
  'connected.largest': 'Größte Assets nach Wert',
  'connected.other': 'Übrige',
  'connected.add': 'Weiteres Konto verbinden',
  'connected.finish': 'Fertig',
  'connected.remove': 'Entfernen',
  'connected.attention': 'Braucht Ihre Aufmerksamkeit',
  'connected.repair': 'Reparieren',

  'proof.checking': 'Es wird noch geprüft, ob alles übereinstimmt',
  'proof.proved': 'Seit {date} stimmt alles überein',
  'proof.proved_plain': 'Alles stimmt überein',
  'proof.unprovable':
    'Die Bestände lassen sich noch nicht prüfen, weil {provider} nicht den ganzen Verlauf herausgibt.',
  'proof.not_read': 'Alles stimmt überein, aber ein Teil des Verlaufs zwischen {from} und {until} wurde nicht gelesen.',
  'proof.coverage_hole':
    '{amount} {asset} vor {until} lassen sich nicht erklären: {provider} gibt keinen älteren Verlauf heraus.',
  'proof.pending': 'Alles stimmt überein, sobald {amount} {asset}, die noch unterwegs sind, bestätigt sind.',
  'proof.unreadable_record': '{amount} {asset} fehlen: Wir konnten einen Eintrag von {provider} nicht lesen.',
  'proof.unknown_type': '{amount} {asset} sind unklar: {provider} sagt nicht, was dieser Eintrag bedeutet.',
  'proof.rounding': 'Alles stimmt überein. {provider} rundet {asset} um {amount}.',
  'proof.accrual': 'Alles stimmt überein. {amount} {asset} wurden verdient und von {provider} noch nicht verbucht.',
  'proof.provider_correction': 'Abweichung von {amount} {asset}: {provider} hat einen früheren Eintrag geändert.',
  'proof.unlisted_credit':
    'Alles stimmt überein bis auf {amount} {asset}: {provider} führt dafür keine Transaktion auf.',
  'proof.unexplained': '{amount} {asset} seit {from} lassen sich nicht erklären.',
  'proof.more': { one: '{count} weiteres Asset weicht ab.', other: '{count} weitere Assets weichen ab.' },

  'repaired.title': 'Die Verbindung zu {provider} ist repariert',
  'repaired.lead':
    'Die Verbindung funktioniert wieder und kann nur lesen. Wir machen dort weiter, wo das Lesen aufgehört hat.',

  'trouble.invalid_credentials.title': '{provider} akzeptiert diesen Schlüssel nicht',
  'trouble.invalid_credentials.why':
    'Vielleicht ist eine Eingabe unvollständig oder vertippt, der Schlüssel wurde bei {provider} gelöscht, oder er gilt nur für bestimmte IP-Adressen. Es wurde nichts gespeichert.',
  'trouble.invalid_credentials.do': 'Noch einmal eingeben',
  'trouble.missing_permission.title': 'Dieser Schlüssel darf zu wenig lesen',
  'trouble.missing_permission.why':
    'Bearbeiten Sie den Schlüssel bei {provider}, kreuzen Sie an, was fehlt, und verbinden Sie erneut. Es wurde nichts gespeichert.',
  'trouble.missing_permission.list': 'Ankreuzen:',
  'trouble.missing_permission.do': 'Ich habe sie angekreuzt',
  'trouble.excess_permission.title': 'Dieser Schlüssel kann mehr als lesen',
  'trouble.excess_permission.why':
    'Wir akzeptieren keinen Schlüssel, mit dem man Ihr Vermögen bewegen oder damit handeln könnte. Er wurde nicht gespeichert. Erstellen Sie bei {provider} einen neuen.',
  'trouble.excess_permission.list': 'Diese ohne Häkchen lassen:',
  'trouble.excess_permission.do': 'Ich habe einen neuen Schlüssel',
  'trouble.ip_not_allowed.title': '{provider} nimmt diesen Schlüssel nur von bestimmten Adressen an',
  'trouble.ip_not_allowed.why':
    'Entfernen Sie bei {provider} die Liste der IP-Adressen vom Schlüssel, oder erstellen Sie einen ohne. Es wurde nichts gespeichert.',
  'trouble.ip_not_allowed.do': 'Schlüssel ohne Liste eingeben',
  'trouble.key_expired.title': 'Dieser Schlüssel ist abgelaufen',
  'trouble.key_expired.why': 'Erstellen Sie bei {provider} einen neuen Nur-Lese-Schlüssel.',
  'trouble.key_expired.do': 'Ich habe einen neuen Schlüssel',
  'trouble.needs_reauth.title': '{provider} nimmt den Schlüssel nicht mehr an',
  'trouble.needs_reauth.why':
    'Er wurde bei {provider} gelöscht oder geändert. Erstellen Sie einen neuen Nur-Lese-Schlüssel für dasselbe Konto; was gelesen wurde, bleibt.',
  'trouble.needs_reauth.do': 'Ich habe einen neuen Schlüssel',
  'trouble.venue_down.title': '{provider} ist gerade nicht erreichbar',
  'trouble.venue_down.why':
    'Das liegt nicht an Ihnen. Es wurde nichts gespeichert. Versuchen Sie es in ein paar Minuten erneut.',
  'trouble.venue_down.do': 'Erneut versuchen',
  'trouble.unreadable_answer.title': 'Wir konnten die Antwort von {provider} nicht lesen',
  'trouble.unreadable_answer.why':
    'Das liegt nicht an Ihnen. Es wurde nichts gespeichert. Wir gehen dem nach; versuchen Sie es später erneut.',
  'trouble.unreadable_answer.do': 'Erneut versuchen',
  'trouble.rate_limited.title': '{provider} bittet uns zu warten',
  'trouble.rate_limited.why':
    'Es gab in kurzer Zeit zu viele Anfragen. Es wurde nichts gespeichert. Versuchen Sie es in einer Minute erneut.',
  'trouble.rate_limited.do': 'Erneut versuchen',
  'trouble.clock_skew.title': '{provider} hat die Reihenfolge der Anfragen abgelehnt',
  'trouble.clock_skew.why':
    'Ein anderes Programm scheint denselben Schlüssel zu verwenden. Erstellen Sie einen nur für diesen Zweck.',
  'trouble.clock_skew.do': 'Ich habe einen neuen Schlüssel',
  'trouble.already_connected.title': 'Dieses Konto bei {provider} ist schon verbunden',
  'trouble.already_connected.why':
    'Sie müssen nichts tun: Das Konto wird bereits gelesen. Ihre Eingabe wurde nicht gespeichert.',
  'trouble.already_connected.do': 'Weiter',
  'trouble.account_mismatch.title': 'Dieser Schlüssel gehört zu einem anderen Konto bei {provider}',
  'trouble.account_mismatch.why':
    'Zum Reparieren ist ein Schlüssel desselben Kontos nötig. Nichts wurde geändert. Das andere Konto verbinden Sie als neues.',
  'trouble.account_mismatch.do': 'Anderen Schlüssel eingeben',
  'trouble.invalid_state.title': 'Diese Anmeldung passt nicht zu Ihrer Sitzung',
  'trouble.invalid_state.why':
    'Das kann geschehen, wenn die Seite zweimal oder zu lange offen war. Beginnen Sie mit {provider} von vorn.',
  'trouble.invalid_state.do': 'Von vorn beginnen',
  'trouble.invalid_address.title': 'Diese Adresse ist nicht gültig',
  'trouble.invalid_address.why': 'Kopieren Sie die Adresse noch einmal aus Ihrer Wallet.',
  'trouble.invalid_address.do': 'Noch einmal eingeben',
  'trouble.sign_in_declined.title': 'Sie haben den Zugang bei {provider} nicht erlaubt',
  'trouble.sign_in_declined.why':
    'Es wurde nichts gespeichert. Zum Verbinden melden Sie sich dort noch einmal an und erlauben das Lesen.',
  'trouble.sign_in_excess.title': '{provider} würde uns mehr als Lesen erlauben',
  'trouble.sign_in_excess.why':
    'Wir akzeptieren keinen Zugang, mit dem man Ihr Vermögen bewegen oder damit handeln könnte. Er wurde nicht gespeichert. Melden Sie sich noch einmal an und erlauben Sie nur das Lesen.',
  'trouble.sign_in_mismatch.title': 'Das war ein anderes Konto bei {provider}',
  'trouble.sign_in_mismatch.why':
    'Zum Reparieren ist das Konto nötig, das vorher verbunden war. Nichts wurde geändert.',
  'trouble.sign_in_refused.title': '{provider} hat die Anmeldung nicht angenommen',
  'trouble.sign_in_refused.why': 'Vielleicht hat sie zu lange gedauert. Es wurde nichts gespeichert.',
  'trouble.sign_in.do': 'Noch einmal anmelden',
  'trouble.other.title': '{provider} wurde nicht verbunden',
  'trouble.other.why': 'Der Dienst sagt: {message}',
  'trouble.other.do': 'Erneut versuchen',
  'trouble.elsewhere': 'Anderen Anbieter wählen',
  'trouble.later': 'Später reparieren',

  'leave.title': 'Seite verlassen, ohne abzuschließen?',
  'leave.body': {
    one: 'Das Konto, das Sie hier verbunden haben, wird wieder entfernt.',
    other: 'Die {count} Konten, die Sie hier verbunden haben, werden wieder entfernt.',
  },
  'leave.yes': 'Verlassen',
  'leave.no': 'Bleiben',

  'handover.title': 'Dieses {provider}-Konto mit {app} verbinden?',
  'handover.lead':
    '{app}, eine Anwendung von {tenant}, hat diese Anmeldung begonnen. Wenn Sie fortfahren, kann sie Ihr {provider}-Konto lesen.',
  'handover.doubt':
    'Fahren Sie nur fort, wenn Sie selbst in {app} begonnen haben. Wenn ein Link oder eine Nachricht Sie hierher geführt hat, brechen Sie ab.',
  'handover.goes_on':
    'Wenn die ganze Seite zu sehen ist und Sie nichts tun, geht es in ein paar Sekunden von selbst weiter.',
  'handover.agree': 'Ja, mit {app} verbinden',
  'handover.refuse': 'Nein, nicht verbinden',

  'stopped.bad_request.title': 'Dieser Link funktioniert nicht',
  'stopped.bad_request.why':
    'Die Anwendung, die Sie hierher geschickt hat, ist nicht registriert, oder ihre Rückkehradresse ist nicht registriert. Informieren Sie den Betreiber der Anwendung.',
  'stopped.expired.title': 'Diese Seite ist abgelaufen',
  'stopped.expired.why':
    'Zu Ihrer Sicherheit schließt sie nach einer halben Stunde, oder wenn der erteilte Zugriff beendet wird. Was nicht abgeschlossen war, wurde entfernt. Beginnen Sie bei {app} von vorn.',
  'stopped.finished.title': 'Alles erledigt',
  'stopped.finished.why': 'Sie können diese Seite schließen.',
  'stopped.declined.title': 'Nichts wurde geteilt',
  'stopped.declined.why': 'Sie können diese Seite schließen.',
  'stopped.unreachable.title': 'Der Dienst ist nicht erreichbar',
  'stopped.unreachable.why':
    'Prüfen Sie Ihre Internetverbindung und versuchen Sie es noch einmal. Nichts ist verloren.',
  'stopped.busy.title': 'Bitte warten Sie einen Moment',
  'stopped.busy.why': 'Aus Ihrem Netz kamen zu viele Anfragen. Versuchen Sie es in einer Minute erneut.',
  'stopped.failed.title': 'Bei uns ist ein Fehler aufgetreten',
  'stopped.failed.why':
    'Wir haben ihn erfasst. Versuchen Sie es noch einmal; was Sie bisher getan haben, bleibt erhalten.',
  'stopped.nothing.title': 'Hier ist nichts zu tun',
  'stopped.nothing.why': 'Diese Seite wird von einer Anwendung geöffnet, die Sie nutzen. Beginnen Sie dort.',
  'stopped.config.title': 'Diese Seite ist noch nicht eingerichtet',
  'stopped.config.why': 'config.json neben index.html muss auth_url und base_url nennen.',

  'manage.title': 'Ihre verbundenen Konten',
  'manage.lead': 'Melden Sie sich an, um zu sehen, wer Ihre Konten lesen darf, und um Zugriffe zu beenden.',
  'manage.signed_in': 'Angemeldet als {email}',
  'manage.connections': 'Konten',
  'manage.no_connections': 'Es ist kein Konto verbunden.',
  'manage.grants': 'Wer lesen darf',
  'manage.no_grants': 'Keine Anwendung darf Ihre Konten lesen.',
  'manage.granted': 'seit {from}, bis {until}',
  'manage.read_last': 'Zuletzt gelesen: {what}, {date}',
  'manage.read_never': 'Hat in den letzten Tagen nichts gelesen',
  'manage.times': { other: '{count}-mal' },
  'manage.accesses': 'Was wann gelesen wurde',
  'manage.claims': 'Was gefragt wurde',
  'manage.claim_value': 'Besitzen Sie mindestens {amount} US-Dollar?',
  'manage.claim_holds': 'Besitzen Sie mindestens {amount} {asset}?',
  'manage.claim_yes': 'Ja',
  'manage.claim_no': 'Nein',
  'manage.claim_unanswered': 'Nicht beantwortet',
  'manage.claim_for': 'Für {audience}',
  'manage.claim_as_of': 'Stand: {date}',
  'manage.ended_grants': 'Beendete Zugriffe',
  'manage.was_granted': 'von {from} bis {until}',
  'manage.ended_by_you': 'Von Ihnen beendet',
  'manage.ended_by_tenant': 'Von {tenant} beendet',
  'manage.ended_by_time': 'Abgelaufen',
  'manage.tenant_reads': 'Von {tenant} selbst gelesen',
  'manage.tenant_reads_why': '{tenant} sieht alles, was Sie mit einer Anwendung dieses Unternehmens teilen.',
  'manage.events': 'Was geschehen ist',
  'manage.event_consent': 'Sie haben dem Teilen mit {name} zugestimmt',
  'manage.event_grant': '{name} hat Zugriff erhalten',
  'manage.event_revoked': 'Sie haben den Zugriff von {name} beendet',
  'manage.event_ended': 'Das Unternehmen hinter der Anwendung hat alle Zugriffe beendet',
  'manage.event_added': '{name} verbunden ({by})',
  'manage.event_repaired': '{name} repariert ({by})',
  'manage.event_removed': '{name} entfernt ({by})',
  'manage.by_you': 'von Ihnen',
  'manage.by_application': 'von einer Anwendung',
  'manage.by_service': 'vom Dienst',
  'manage.what_assets': 'Bestände',
  'manage.what_transactions': 'Transaktionen',
  'manage.what_providers': 'Liste der Konten',
  'manage.what_history': 'Wert im Lauf der Zeit',
  'manage.what_proof': 'ob die Bestände stimmen',
  'manage.what_claim': 'die Antwort auf eine Frage',
  'manage.what_refresh': 'ob neue Daten da sind',
  'manage.what_user': 'wer Sie sind und was Sie teilen',
  'manage.what_other': 'andere Daten',
  'manage.updated': 'Stand {date}',
  'manage.count': { one: '{count} Transaktion', other: '{count} Transaktionen' },
  'manage.remove': 'Entfernen',
  'manage.remove_title': '{name} entfernen?',
  'manage.remove_body':
    'Der Zugang zu diesem Konto und alles, was daraus gelesen wurde, werden gelöscht. Anwendungen sehen es nicht mehr.',
  'manage.revoke': 'Entziehen',
  'manage.revoke_title': '{name} den Zugriff entziehen?',
  'manage.revoke_body':
    '{name} verliert sofort den Zugriff. Ihre Konten bleiben noch eine Zeit lang verbunden, falls Sie es sich anders überlegen.',
  'manage.delete': 'Alles löschen',
  'manage.delete_title': 'Alles über Sie löschen?',
  'manage.delete_body':
    'Alle Konten, Schlüssel, Transaktionen und Berechtigungen werden gelöscht. Das lässt sich nicht rückgängig machen.',
  'manage.keep': 'Behalten',
  'manage.deleted_title': 'Alles wurde gelöscht',
  'manage.deleted_why': 'Hier ist nichts mehr über Sie. Sie können diese Seite schließen.',
  'manage.expired_why': 'Zu Ihrer Sicherheit wurden Sie abgemeldet. Melden Sie sich wieder an, um weiterzumachen.',
  'manage.sign_in_again': 'Wieder anmelden',
  'manage.sign_out': 'Abmelden',

  'status.pending': 'wird geprüft',
  'status.syncing': 'Verlauf wird gelesen',
  'status.active': 'aktuell',
  'status.degraded': 'teilweise aktuell',
  'status.needs_reauth': 'muss repariert werden',
  'status.removed': 'entfernt',
}
