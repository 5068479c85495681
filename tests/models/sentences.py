"""A dozen pairs of sentences that mean nearly the same, in two languages, written for these tests."""

ENGLISH = [
    ("A man is playing a guitar on the stage.", "Someone performs music with a guitar."),
    ("The cat sleeps on the warm sofa.", "A kitten is napping on the couch."),
    ("The stock market fell sharply on Monday.", "Shares dropped steeply at the start of the week."),
    ("She cooked rice and beans for dinner.", "Her evening meal was beans with rice."),
    ("The football team won the final match.", "Victory went to the soccer club in the last game."),
    ("Heavy rain flooded the streets of the town.", "The roads were under water after a storm."),
    ("The doctor told him to take the medicine twice a day.", "The physician prescribed a drug, two doses daily."),
    ("The new telescope found a distant planet.", "Astronomers discovered a far-away world."),
    ("He repaired the engine of his old car.", "The motor of the aged automobile was fixed by him."),
    ("The children are building a castle of sand.", "Kids make a sandcastle at the beach."),
    ("The government raised taxes on fuel.", "Petrol is taxed more heavily by the state."),
    ("The train to Paris leaves at noon.", "At twelve o'clock there is a railway departure for Paris."),
]
CHINESE = [
    ("一个男人在舞台上弹吉他。", "有人用吉他演奏音乐。"),
    ("猫在沙发上睡觉。", "小猫躺在沙发上打盹。"),
    ("股市周一大幅下跌。", "股票价格在星期一暴跌。"),
    ("她晚饭做了米饭和豆子。", "她的晚餐是豆子配米饭。"),
    ("足球队赢得了决赛。", "这支球队在最后一场足球比赛中获胜。"),
    ("大雨淹没了城里的街道。", "暴雨过后道路被水淹了。"),
    ("医生让他每天吃两次药。", "大夫给他开了药，一天服用两次。"),
    ("望远镜发现了一颗遥远的行星。", "天文学家发现了新的行星。"),
    ("他修好了旧汽车的发动机。", "那辆旧车的引擎被他修理好了。"),
    ("孩子们在沙滩上堆沙堡。", "小孩在海边用沙子盖城堡。"),
    ("政府提高了燃油税。", "国家对汽油征收更高的税。"),
    ("去北京的火车中午出发。", "中午十二点有一班开往北京的列车。"),
]
